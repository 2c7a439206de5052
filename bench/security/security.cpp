#include "security.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "bench/bcast/bcast.hpp"
#include "bench/bulk/bulk.hpp"
#include "bench/kit/group_contestant.hpp"
#include "bench/kit/key_file.hpp"
#include "bench/rtt/rtt.hpp"
#include "flood.hpp"

namespace bench::security {
namespace {

constexpr std::uint32_t message_bytes = 64;
constexpr std::uint32_t bcast_nodes = 16;
constexpr std::uint64_t pull_bytes = 1U << 24U;

/// One operation, over connections that the ring in a file guards, or in the clear if there is no file.
struct measured_case {
  std::string name;
  std::uint64_t size;
  std::uint32_t nodes;
  std::uint32_t usual_operations;
  std::function<subject(const std::string& name, const std::string& keys)> make;
};

/// Where the two processes of a round trip run.
enum class processors { any, own };

measured_case rtt_case(const std::string& case_name, processors on, const std::string& congestion_control) {
  return {case_name, message_bytes, 2, 2000,
          [on, congestion_control](const std::string& name, const std::string& keys) {
            const auto play = [on, s = rtt::setting{message_bytes, congestion_control, keys}](member& me) {
              if (on == processors::own) me.stay_on_own_processor();
              rtt::play_scoll(me, s);
            };
            return subject{name, std::make_unique<group_contestant>(name, 2, play)};
          }};
}

measured_case bcast_case(const std::string& congestion_control) {
  return {"bcast", message_bytes, bcast_nodes, 400,
          [congestion_control](const std::string& name, const std::string& keys) {
            const scoll::tree_spec tree = *scoll::parse_tree("knomial:4");
            const bcast::setting s{bcast_nodes, message_bytes, tree, congestion_control, false, keys};
            return group_subject(name, bcast_nodes, &bcast::play_scoll, s);
          }};
}

measured_case pull_case(const std::string& congestion_control) {
  return {"pull", pull_bytes, 2, 4, [congestion_control](const std::string& name, const std::string& keys) {
            bulk::setting s;
            s.size = pull_bytes;
            s.congestion_control = congestion_control;
            s.keys = keys;
            s.apart = true;
            return group_subject(name, 2, &bulk::play_scoll, s);
          }};
}

row begin_row(const std::string& name, const score& s, std::uint64_t size, std::uint32_t nodes) {
  row r;
  r["bench"] = "security";
  r["case"] = name;
  r["subject"] = s.subject;
  r["nodes"] = nodes;
  r["size"] = size;
  add_score(r, s);
  return r;
}

rows beside_clear(const bench::options& common, const measured_case& c) {
  constexpr std::size_t clear_at = 1;
  const key_file ring;
  std::vector<subject> subjects;
  subjects.push_back(c.make("scoll psk", ring.path()));
  subjects.push_back(c.make("scoll clear", {}));
  subjects.push_back(c.make("scoll clear (A/A)", {}));
  const auto scores = hold(subjects, common.contest(c.usual_operations, "security, " + c.name));
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row r = begin_row(c.name, scores[i], c.size, c.nodes);
    r["allocs_per_op"] = scores[i].total.allocations;  // exact: the limit is zero
    if (i != clear_at) add_ratios(r, scores[i], scores[clear_at]);
    found.push_back(std::move(r));
  }
  return found;
}

/// Calls between two processes while strangers begin handshakes with the one that answers.
class flooded final : public contestant {
 public:
  flooded(group_contestant& group, std::string keys, stranger kind)
      : group_(group), keys_(std::move(keys)), kind_(kind) {}

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    const flood strangers(static_cast<std::uint16_t>(group_.page(1).port), keys_, kind_);
    group_.run(operations, latency_us);
  }
  std::vector<usage> used() const override { return group_.used(); }

 private:
  group_contestant& group_;
  std::string keys_;
  stranger kind_;
};

rows under_flood(const bench::options& common) {
  constexpr std::uint32_t usual_operations = 20'000;
  constexpr std::size_t idle_at = 0;
  const key_file ring;
  group_contestant calls("scoll", 2, [&](member& me) {
    rtt::play_scoll(me, {message_bytes, common.congestion_control, ring.path()});
  });
  std::vector<subject> subjects;
  const auto add_idle = [&](const char* name) {
    subjects.push_back({name, std::make_unique<under_other_orders>(calls, order{})});
  };
  const auto add_flooded = [&](const char* name, stranger kind) {
    subjects.push_back({name, std::make_unique<flooded>(calls, ring.path(), kind)});
  };
  add_idle("scoll psk");
  add_flooded("scoll psk, strangers stay", stranger::stays);
  add_flooded("scoll psk, strangers hang up", stranger::hangs_up);
  add_idle("scoll psk (A/A)");
  const auto scores = hold(subjects, common.contest(usual_operations, "security, flood"));
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row r = begin_row("flood", scores[i], message_bytes, 2);
    if (i != idle_at) {
      add_ratios(r, scores[i], scores[idle_at]);
      add_tail_ratio(r, scores[i], scores[idle_at]);
    }
    found.push_back(std::move(r));
  }
  return found;
}

const std::vector<column>& columns() {
  static const std::vector<column> all{{"subject", "subject", 0, 28},
                                       {"size", "bytes", 0, 9},
                                       {"p50_us", "p50 us"},
                                       {"p99_us", "p99 us"},
                                       {"cpu_us_per_op", "CPU us/op"},
                                       {"wakeups_per_op", "wake-ups", 1, 8},
                                       {"allocs_per_op", "allocs", 2, 7},
                                       {"p50_ratio", "p50 ratio", 2, 9},
                                       {"p50_ratio_low", "low", 2, 6},
                                       {"p50_ratio_high", "high", 2, 6},
                                       {"cpu_ratio", "CPU ratio", 2, 9},
                                       {"cpu_ratio_low", "low", 2, 6},
                                       {"cpu_ratio_high", "high", 2, 6},
                                       {"p99_ratio", "p99 ratio", 2, 9},
                                       {"p99_ratio_low", "low", 2, 6},
                                       {"p99_ratio_high", "high", 2, 6}};
  return all;
}

rows run_case(const bench::options& common, const std::string& name) {
  if (name == "rtt") return beside_clear(common, rtt_case(name, processors::any, common.congestion_control));
  if (name == "rtt-apart")
    return beside_clear(common, rtt_case(name, processors::own, common.congestion_control));
  if (name == "bcast") return beside_clear(common, bcast_case(common.congestion_control));
  if (name == "pull") return beside_clear(common, pull_case(common.congestion_control));
  return under_flood(common);
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  rows all;
  for (const std::string& name : o.cases) {
    const rows found = run_case(common, name);
    show_progress("");
    print_table(fmt::format("security, {}; ratios to scoll {}", name,
                            name == "flood" ? "without strangers" : "in the clear"),
                columns(), found);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace bench::security
