#include "load.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "bench/kit/group_contestant.hpp"
#include "bench/kit/peers.hpp"
#include "bench/kit/rated.hpp"
#include "scoll/tree/any_tree.hpp"

namespace bench::load {
namespace {

using player = void (*)(member&, const bcast::setting&);

/// A job that is measured: what its processes do, and how much of it.
struct job {
  std::string name;
  bcast::setting setting;
  player scoll;
  std::uint32_t operations;  ///< of each subject and round
  std::uint32_t in_flight;   ///< with so many at once one sees how many are possible
};

/// A group of which one process stands still for a while in the middle.
class driven_with_stop final : public contestant {
 public:
  static constexpr std::uint32_t stop_ms = 200;

  driven_with_stop(group_contestant& group, std::uint32_t nodes, order kind)
      : group_(group), nodes_(nodes), kind_(kind) {}

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    const double whole_us = static_cast<double>(operations) * kind_.gap_ns / 1e3;
    const std::jthread other([this, whole_us] {
      usleep(static_cast<useconds_t>(whole_us / 3));
      kill(last(), SIGSTOP);
      usleep(stop_ms * 1000);
      kill(last(), SIGCONT);
    });
    const answer measured = group_.obey(operations, kind_);
    for (const std::uint32_t ns : measured.latency_ns) latency_us.push_back(ns / 1e3);
  }
  std::vector<usage> used() const override { return group_.used(); }

 private:
  pid_t last() const {
    const pid_t guest = group_.page(nodes_ - 1).pid;
    return guest != 0 ? guest : group_.pids().back();
  }

  group_contestant& group_;
  std::uint32_t nodes_;
  order kind_;
};

/// One of those who do the job, and how many operations it can do per second.
struct participant {
  std::string subject;
  std::unique_ptr<group_contestant> group;
  double possible_per_s = 0;
};

class one_job {
 public:
  one_job(const bench::options& common, const options& o, job j)
      : common_(common), options_(o), job_(std::move(j)) {
    add("scoll", job_.scoll);
    add("raw-epoll", &play_raw);
    if (o.peers)
      all_.push_back({grpc.subject,
                      bench::start(grpc, job_.setting.nodes, job_.setting.size, common.congestion_control)});
  }

  rows measure() {
    find_what_is_possible();
    rows found = at_rates();
    if (options_.stopped) {
      for (participant& p : all_) found.push_back(with_stop(p));
    }
    return found;
  }

 private:
  void add(const char* name, player play) {
    const bcast::setting s = job_.setting;
    all_.push_back(
        {name, std::make_unique<group_contestant>(name, s.nodes, [play, s](member& me) { play(me, s); })});
  }

  contest_options contest(const char* what) const {
    return common_.contest(job_.operations, fmt::format("load, {}, {}", job_.name, what));
  }

  void find_what_is_possible() {
    const contest_options how = contest("what is possible");
    std::vector<subject> subjects;
    std::vector<rated*> by_participant;
    for (participant& p : all_) {
      order many;
      many.in_flight = job_.in_flight;
      auto made = std::make_unique<rated>(*p.group, many, how.operations);
      by_participant.push_back(made.get());
      subjects.push_back({p.subject, std::move(made)});
    }
    hold(subjects, how);
    for (std::size_t i = 0; i < all_.size(); ++i) all_[i].possible_per_s = median(by_participant[i]->per_s());
  }

  static order at_share(const participant& p, double share) {
    order o;
    o.gap_ns = static_cast<std::uint32_t>(std::clamp(1e9 / (p.possible_per_s * share), 1.0, 4e9));
    return o;
  }

  rows at_rates() {
    const contest_options how = contest("at a rate");
    std::vector<subject> subjects;
    std::vector<rated*> driven_by;
    rows found;
    for (participant& p : all_) {
      for (const std::uint32_t share : options_.shares) {
        const order o = at_share(p, share / 100.0);
        auto made = std::make_unique<rated>(*p.group, o, how.operations);
        driven_by.push_back(made.get());
        subjects.push_back({p.subject, std::move(made)});
        row r = begin_row("load-" + job_.name, p, o);
        r["share"] = share;
        found.push_back(std::move(r));
      }
    }
    const auto scores = hold(subjects, how);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      found[i]["ops_per_s"] = rounded(median(driven_by[i]->per_s()));
      add_tail(found[i], scores[i]);
    }
    return found;
  }

  row with_stop(participant& p) {
    const order o = at_share(p, 0.5);
    std::vector<subject> alone;
    alone.push_back({p.subject, std::make_unique<driven_with_stop>(*p.group, job_.setting.nodes, o)});
    contest_options how = contest("with a stop");
    constexpr double seconds = 1;
    how.operations =
        std::min<std::uint32_t>(report_page::capacity, static_cast<std::uint32_t>(seconds * 1e9 / o.gap_ns));
    how.warm_up = 1;
    how.rounds = std::min(how.rounds, 5U);
    row r = begin_row("load-" + job_.name + "-stopped", p, o);
    r["stop_ms"] = driven_with_stop::stop_ms;
    add_tail(r, hold(alone, how).front());
    return r;
  }

  row begin_row(const std::string& bench, const participant& p, const order& o) const {
    row r;
    r["bench"] = bench;
    r["subject"] = p.subject;
    r["nodes"] = job_.setting.nodes;
    r["size"] = job_.setting.size;
    r["possible_per_s"] = rounded(p.possible_per_s);
    r["rate_per_s"] = rounded(1e9 / o.gap_ns);
    return r;
  }

  static void add_tail(row& to, const score& s) {
    add_score(to, s);
    to["p999_us"] = rounded(quantile(s.latency_us, 0.999));
    to["syscalls_per_op"] = rounded(s.total.syscalls);
  }

  bench::options common_;
  options options_;
  job job_;
  std::vector<participant> all_;
};

job make(const std::string& name, const bench::options& common, const options& o) {
  const bool is_call = name == "call";
  const auto tree = scoll::parse_tree(is_call ? "flat" : o.tree);
  if (!tree) throw std::invalid_argument("no tree is called " + o.tree);
  bcast::setting s;
  s.nodes = is_call ? 2 : o.nodes;
  s.size = o.size;
  s.tree = *tree;
  s.congestion_control = common.congestion_control;
  if (is_call) return {name, s, &play_calls, 20'000, 128};
  return {name, s, &bcast::play_scoll, 2'000, 64};
}

const std::vector<column>& columns() {
  static const std::vector<column> all{{"bench", "bench", 0, 18},
                                       {"subject", "subject", 0, 10},
                                       {"nodes", "nodes", 0, 6},
                                       {"size", "bytes", 0, 6},
                                       {"possible_per_s", "possible/s", 0},
                                       {"share", "share %", 0, 7},
                                       {"rate_per_s", "rate/s", 0},
                                       {"ops_per_s", "ended/s", 0},
                                       {"p50_us", "p50 us"},
                                       {"p99_us", "p99 us"},
                                       {"p999_us", "p99.9 us"},
                                       {"max_us", "max us"},
                                       {"cpu_us_per_op", "CPU us/op"},
                                       {"syscalls_per_op", "syscalls", 2, 8}};
  return all;
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  if (o.peers) require_peers(std::span(&grpc, 1), "load");
  rows all;
  for (const std::string& name : o.jobs) {
    const rows found = one_job(common, o, make(name, common, o)).measure();
    show_progress("");
    print_table(
        fmt::format("{}s of {} bytes that begin at a fixed rate; late from when they were due", name, o.size),
        columns(), found);
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace bench::load
