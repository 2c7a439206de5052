#include "alone.hpp"

#include <array>
#include <functional>
#include <stdexcept>
#include <vector>

#include "bench/bcast/bcast.hpp"
#include "bench/bcast/prediction.hpp"
#include "bench/kit/clock.hpp"
#include "bench/kit/group_contestant.hpp"
#include "bench/rtt/rtt.hpp"

namespace bench::alone {
namespace {

constexpr std::uint32_t warm_up = 200;  // always as many, so that two runs differ by their operations alone

struct cast {
  std::uint32_t count = 2;
  std::function<void(member&)> body;
  std::vector<std::string> places{"asks", "answers"};
};

using player = void (*)(member&, const bcast::setting&);

player player_of(const std::string& subject) {
  if (subject == "scoll") return &bcast::play_scoll;
  if (subject == "scoll-plain") return &bcast::play_plain;
  if (subject == "raw-tree-epoll") return &bcast::play_raw_epoll;
  if (subject == "raw-tree-uring") return &bcast::play_raw_uring;
  throw std::invalid_argument("'" + subject + "' is no subject");
}

cast of_rtt(const options& o, const std::string& congestion_control) {
  if (o.subject != "scoll") throw std::invalid_argument("--job rtt is made by --subject scoll");
  const rtt::setting s{o.size, congestion_control};
  return {2, [s](member& me) { rtt::play_scoll(me, s); }};
}

cast of_bcast(const options& o, const std::string& congestion_control) {
  const auto tree = scoll::parse_tree(o.tree);
  if (!tree) throw std::invalid_argument("'" + o.tree + "' is no tree");
  const bcast::setting s{o.nodes, o.size, *tree, congestion_control};
  cast made{o.nodes, [s, play = player_of(o.subject)](member& me) { play(me, s); }, {"root"}};
  for (std::uint32_t i = 1; i < o.nodes; ++i)
    made.places.emplace_back(bcast::any_tree_of(s).fan_out(o.nodes, i) == 0 ? "leaf" : "interior");
  return made;
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  constexpr std::uint32_t usual_operations = 10'000;
  const cast who =
      o.job == "rtt" ? of_rtt(o, common.congestion_control) : of_bcast(o, common.congestion_control);
  group_contestant group(o.subject, who.count, who.body);
  const std::uint32_t operations = common.contest(usual_operations, o.job).operations;
  std::vector<double> latency_us;
  group.run(warm_up, latency_us);
  latency_us.clear();
  const std::vector<usage> before = group.used();
  const std::int64_t began = now_ns();
  group.run(operations, latency_us);
  const std::int64_t ended = now_ns();
  const std::vector<usage> after = group.used();
  rows found;
  for (std::size_t i = 0; i < who.count; ++i) {
    const usage each = (after[i] - before[i]).per(operations);
    row r;
    r["bench"] = "alone";
    r["subject"] = o.subject;
    r["job"] = o.job;
    r["place"] = who.places[i];
    r["pid"] = group.pids()[i];
    r["size"] = o.size;
    r["operations"] = operations;
    r["began_ns"] = began;
    r["ended_ns"] = ended;
    r["p50_us"] = median(latency_us);
    r["cpu_us_per_op"] = each.cpu_us;
    r["wakeups_per_op"] = each.wakeups;
    found.push_back(std::move(r));
  }
  static const std::array columns{column{"job", "job", 0, 6},
                                  column{"place", "place", 0, 9},
                                  column{"pid", "pid", 0, 8},
                                  column{"size", "bytes", 0, 6},
                                  column{"p50_us", "p50 us"},
                                  column{"cpu_us_per_op", "CPU us/op"},
                                  column{"wakeups_per_op", "wake-ups", 2}};
  print_table(o.subject + " alone, per operation", columns, found);
  return found;
}

}  // namespace bench::alone
