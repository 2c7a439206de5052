#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/alone/alone.hpp"
#include "bench/bcast/bcast.hpp"
#include "bench/bulk/bulk.hpp"
#include "bench/bulk_bcast/bulk_bcast.hpp"
#include "bench/compile/compile.hpp"
#include "bench/cores/cores.hpp"
#include "bench/coro/coro.hpp"
#include "bench/gossip/gossip.hpp"
#include "bench/kit/backend.hpp"
#include "bench/kit/check.hpp"
#include "bench/kit/options.hpp"
#include "bench/kit/plot.hpp"
#include "bench/load/load.hpp"
#include "bench/revoke/revoke.hpp"
#include "bench/rtt/rtt.hpp"
#include "bench/security/security.hpp"
#include "bench/ship/ship.hpp"
#include "bench/stream/stream.hpp"
#include "bench/verbs/verbs.hpp"
#include "scoll/bulk/pieces.hpp"
#include "scoll/settings.hpp"

namespace {

struct arguments {
  bench::options common;
  std::vector<std::uint32_t> sizes{64, 4096};
  bench::bcast::options bcast;
  bench::ship::options ship;
  bench::load::options load;
  bench::cores::options cores;
  bench::bulk::options bulk;
  bench::bulk_bcast::options bulk_bcast;
  bench::gossip::options gossip;
  bench::revoke::options revoke;
  bench::stream::options stream;
  bench::verbs::options verbs;
  bench::security::options security;
  bench::alone::options alone;
  bool list = false;
  bool check = false;
  std::string json, plots, limits = SCOLL_BENCH_LIMITS;
};

void add_common(CLI::App& to, arguments& a) {
  to.add_option("--rounds", a.common.rounds, "each has all subjects, one after the other")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  to.add_option("--operations", a.common.operations, "per subject and round; 0: as many as fit the case")
      ->check(CLI::Range(0, 100000));
  to.add_flag("--quick", a.common.quick, "three short rounds: whether it runs, not how fast");
  to.add_option("--congestion-control", a.common.congestion_control,
                "of all subjects alike, such as cubic; the system's if not given");
  to.add_option("--json", a.json, "write the rows to this file");
  to.add_option("--plot", a.plots, "draw the rows into this folder, with gnuplot");
  to.add_flag("--check", a.check,
              "compare with the limits of what was measured; 1 is returned if one is exceeded");
  to.add_option("--limits", a.limits, "the file they are in")->capture_default_str();
}

/// Checks in advance everything that must work after the measurement, because a measurement takes minutes.
class report {
 public:
  report(const arguments& a, std::string ran, bench::known_benchmarks all)
      : arguments_(a), ran_(std::move(ran)), all_(std::move(all)) {
    if (!a.json.empty()) bench::ensure_writable(a.json);
    if (!a.plots.empty()) bench::ensure_folder(a.plots);
    if (a.check) limits_.emplace(a.limits);
  }

  int operator()(bench::rows found) const {
    for (bench::row& r : found) {
      if (r.value("subject", "").starts_with("scoll") && r["bench"] != "compile")
        r["backend"] = bench::backend_name();
    }
    if (!arguments_.json.empty()) bench::write_json(arguments_.json, found);
    if (!arguments_.plots.empty()) bench::plot(arguments_.plots, found);
    if (!limits_) return 0;
    if (arguments_.common.quick) std::puts("\n--quick shows whether it runs: what follows is no judgement");
    return limits_->hold_for(found, ran_, all_) ? 0 : 1;
  }

 private:
  const arguments& arguments_;
  std::string ran_;
  bench::known_benchmarks all_;
  std::optional<bench::limits> limits_;
};

bench::known_benchmarks benchmarks_of(const CLI::App& app) {
  bench::known_benchmarks all;
  for (const CLI::App* each : app.get_subcommands({})) all.names.push_back(each->get_name());
  all.has_option = [&app](const std::string& name, const std::string& option) {
    return app.get_subcommand(name)->get_option_no_throw(option) != nullptr;
  };
  return all;
}

/// A comparison with the limits needs the rows that they are about.
void complete_for_check(bench::bcast::options& o) {
  constexpr std::uint32_t usual_quorum = 9;
  o.traced = o.repaired = true;
  if (o.quorum == 0 && std::ranges::min(o.nodes) > usual_quorum) o.quorum = usual_quorum;
}

int measure(int argc, char** argv) {
  CLI::App app("Measures scoll beside the least that does the same. docs/performance.md");
  arguments a;
  app.add_flag("--list", a.list, "name the benchmarks");
  app.require_subcommand(0, 1);

  auto* rtt = app.add_subcommand("rtt", "a request and its reply between two processes");
  rtt->add_option("--size", a.sizes, "bytes there and back, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1, 32768));
  add_common(*rtt, a);

  auto* bcast = app.add_subcommand("bcast", "a broadcast over a tree of processes and its merged reply");
  bcast->add_option("--nodes", a.bcast.nodes, "processes, one or several")
      ->delimiter(',')
      ->check(CLI::Range(2, 512));
  bcast->add_option("--size", a.bcast.sizes, "bytes of the request, one or several")
      ->delimiter(',')
      ->check(CLI::Range(8, 4096));
  bcast->add_option(
      "--tree", a.bcast.trees,
      "such as knomial:4, one or several with spaces between; auto: measured and chosen, unless "
      "SCOLL_NODE_PINNED_TREE names one");
  bcast->add_option("--at-once", a.bcast.in_flight, "broadcasts at once, measured beside, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1, 512));
  bcast->add_flag("--under-bulk", a.bcast.background, "also while bulk goes to all children of the root");
  bcast->add_flag("--traced", a.bcast.traced, "also with a trace, which every member stamps");
  bcast->add_flag("--repaired", a.bcast.repaired, "also ready for repair, though nobody dies");
  bcast
      ->add_option(
          "--kills", a.bcast.kills,
          "also with so many deaths of an interior process that are repaired, and as many after which the "
          "broadcast is aborted and begun anew")
      ->check(CLI::Range(1, 100));
  bcast->add_option("--quorum", a.bcast.quorum,
                    "also until so many are merged, while the last process is stopped");
  bcast
      ->add_option("--zones", a.bcast.zones,
                   "also with members dealt to so many zones, over a tree that enters each once and one that "
                   "knows of none")
      ->check(CLI::Range(2, 64));
  bcast->add_flag("--peers", a.bcast.peers, "beside Open MPI over TCP and a loop of gRPC calls, too");
  add_common(*bcast, a);

  auto* revoke = app.add_subcommand("revoke", "a group revoked in the middle of an operation, and plan B");
  revoke->add_option("--nodes", a.revoke.nodes, "processes, one or several")
      ->delimiter(',')
      ->check(CLI::Range(2, 512));
  add_common(*revoke, a);

  auto* ship = app.add_subcommand("ship", "a shipped call and its result, beside the transport's round trip");
  ship->add_option("--size", a.ship.sizes, "bytes of argument and result, one or several")
      ->delimiter(',')
      ->check(CLI::Range(0, 32000));
  ship->add_option("--at-once", a.ship.in_flight, "null calls in flight, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  ship->add_option("--peers", a.ship.peers, "servers, and connections to them, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1, 64));
  add_common(*ship, a);
  auto* load = app.add_subcommand(
      "load", "calls and broadcasts that begin at a fixed rate, whatever became of others");
  load->add_option("--job", a.load.jobs, "call, bcast, one or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"call", "bcast"}));
  load->add_option("--share", a.load.shares, "per cent of what each subject can do, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1, 200));
  load->add_option("--nodes", a.load.nodes, "processes of a broadcast")->check(CLI::Range(2, 512));
  load->add_option("--size", a.load.size, "bytes of a request")->check(CLI::Range(8, 4096));
  load->add_option("--tree", a.load.tree, "of a broadcast")->capture_default_str();
  load->add_flag("--stopped", a.load.stopped, "also with a process that stands still for 200 ms");
  load->add_flag("--peers", a.load.peers, "beside gRPC, too");
  add_common(*load, a);

  auto* cores = app.add_subcommand(
      "cores", "servers with a reactor per core: calls and broadcasts over the number of cores");
  cores
      ->add_option("--cores", a.cores.cores,
                   "reactors of a server, one or several; the first is what others are compared with")
      ->delimiter(',')
      ->check(CLI::Range(1U, bench::most_reactors));
  cores->add_option("--job", a.cores.jobs, "call, bcast, one or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"call", "bcast"}));
  cores->add_option("--nodes", a.cores.nodes, "servers of a broadcast")->check(CLI::Range(2, 64));
  cores->add_option("--size", a.cores.size, "bytes of a request")->check(CLI::Range(8, 4096));
  cores->add_option("--at-once", a.cores.in_flight, "operations at once of each reactor")
      ->check(CLI::Range(1, 200));
  add_common(*cores, a);

  auto* bulk = app.add_subcommand("bulk", "memory of one process pulled or pushed by another");
  bulk->add_option("--op", a.bulk.operations, "pull, push or both")
      ->delimiter(',')
      ->check(CLI::IsMember({"pull", "push"}));
  bulk->add_option("--size", a.bulk.sizes, "bytes of an operation, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1U, 1U << 30U));
  bulk->add_option("--chunk", a.bulk.chunks, "bytes of a segment, one or several; 0: scoll's choice")
      ->delimiter(',')
      ->check(CLI::Range(0U, 1U << 20U));
  bulk->add_option("--depth", a.bulk.depths, "segments on their way, one or several; 0: scoll's choice")
      ->delimiter(',')
      ->check(CLI::Range(0, 256));
  add_common(*bulk, a);
  auto* bulk_bcast = app.add_subcommand("bulk-bcast", "a broadcast with bulk data, beside raw trees");
  bulk_bcast->add_option("--nodes", a.bulk_bcast.nodes, "processes, one or several")
      ->delimiter(',')
      ->check(CLI::Range(2, 512));
  bulk_bcast->add_option("--size", a.bulk_bcast.sizes, "bytes of an object, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1U, 1U << 30U));
  bulk_bcast
      ->add_option(
          "--plan", a.bulk_bcast.plans,
          "whole, chain, kary:2, knomial:2, circulant and so on, one or several; auto: scoll's choice")
      ->delimiter(',')
      ->capture_default_str();
  bulk_bcast
      ->add_option("--piece", a.bulk_bcast.pieces, "bytes of scoll's pieces, one or several; 0: its choice")
      ->delimiter(',')
      ->check(CLI::Range(0U, scoll::most_bulk_piece_bytes));
  bulk_bcast
      ->add_option("--raw-piece", a.bulk_bcast.raw_pieces,
                   "bytes of the raw tree's chunks, one or several, of which the fastest counts")
      ->delimiter(',')
      ->check(CLI::Range(1U, 1U << 26U));
  bulk_bcast->add_flag("--peers", a.bulk_bcast.peers, "beside Open MPI over TCP, too");
  add_common(*bulk_bcast, a);

  auto* stream = app.add_subcommand("stream", "replies of many bytes streamed to one process, beside pulls");
  stream->add_option("--nodes", a.stream.nodes, "processes, one or several")
      ->delimiter(',')
      ->check(CLI::Range(2, 512));
  stream->add_option("--size", a.stream.sizes, "bytes of each process but the first, one or several")
      ->delimiter(',')
      ->check(CLI::Range(1U, 1U << 28U));
  stream->add_option("--tree", a.stream.trees, "such as flat, one or several with spaces between");
  add_common(*stream, a);

  auto* security = app.add_subcommand("security", "guarded connections beside those in the clear");
  security->add_option("--case", a.security.cases, "rtt, bcast, pull, flood, one or several")
      ->delimiter(',')
      ->check(CLI::IsMember({"rtt", "rtt-apart", "bcast", "pull", "flood"}));
  add_common(*security, a);

  auto* verbs =
      app.add_subcommand("verbs", "two processes over RDMA devices of this machine: ./dev verbs --bench");
  verbs->add_option("--host", a.verbs.hosts, "the addresses of two devices")->delimiter(',')->expected(2);
  verbs->add_option("--case", a.verbs.cases, "rtt, pull, pull-copied, idle, one or several")
      ->delimiter(',')
      ->check(CLI::IsMember({"rtt", "pull", "pull-copied", "idle"}));
  verbs->add_option("--at-once", a.verbs.pulls_at_once, "pulls at once")->check(CLI::Range(1, 8));
  add_common(*verbs, a);

  auto* coro = app.add_subcommand("coro", "the coroutine layer beside Asio's");
  add_common(*coro, a);
  auto* gossip = app.add_subcommand("gossip", "merging vectors of ages, and a cycle of gossip over UDP");
  gossip->add_option("--size", a.gossip.sizes, "bytes of merged vectors, one or several")
      ->delimiter(',')
      ->check(CLI::Range(64, 65536));
  gossip->add_option("--nodes", a.gossip.nodes, "participants, one or several")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096));
  add_common(*gossip, a);
  auto* compile = app.add_subcommand("compile", "compile time of each public header and of all together");
  add_common(*compile, a);

  auto* alone =
      app.add_subcommand("alone", "one subject with nothing beside, for profilers: ./dev bench profile");
  alone->add_option("--job", a.alone.job, "bcast or rtt")->check(CLI::IsMember({"bcast", "rtt"}));
  alone->add_option("--subject", a.alone.subject, "who makes the broadcasts")
      ->capture_default_str()
      ->check(CLI::IsMember({"scoll", "scoll-plain", "raw-tree-epoll", "raw-tree-uring"}));
  alone->add_option("--nodes", a.alone.nodes, "processes of a broadcast")->check(CLI::Range(2, 512));
  alone->add_option("--size", a.alone.size, "bytes of the request")->check(CLI::Range(8, 4096));
  alone->add_option("--tree", a.alone.tree, "of a broadcast")->capture_default_str();
  add_common(*alone, a);

  auto* limits =
      app.add_subcommand("limits", "the committed limits, each behind the command that measures it");
  limits->add_option("--limits", a.limits, "the file they are in")->capture_default_str();

  CLI11_PARSE(app, argc, argv);
  if (app.get_subcommands().empty()) {
    if (!a.list) std::fputs(app.help().c_str(), stdout);
    for (const auto* each : app.get_subcommands({}))
      if (a.list) std::printf("%-10s %s\n", each->get_name().c_str(), each->get_description().c_str());
    return a.list ? 0 : 2;
  }
  if (*limits) {
    bench::limits(a.limits).print_commands(benchmarks_of(app));
    return 0;
  }
  if (*bcast && a.check) complete_for_check(a.bcast);
  const report finish(a, app.get_subcommands().front()->get_name(), benchmarks_of(app));
  scoll::settings chosen;
  if (!chosen.load()) throw std::invalid_argument(chosen.complaint());
  a.bcast.pinned = chosen.node().pinned_tree;
  bench::print_machine(a.common.congestion_control);
  if (*rtt) return finish(bench::rtt::run(a.common, a.sizes));
  if (*revoke) return finish(bench::revoke::run(a.common, a.revoke));
  if (*ship) return finish(bench::ship::run(a.common, a.ship));
  if (*load) return finish(bench::load::run(a.common, a.load));
  if (*cores) return finish(bench::cores::run(a.common, a.cores));
  if (*bulk) return finish(bench::bulk::run(a.common, a.bulk));
  if (*bulk_bcast) return finish(bench::bulk_bcast::run(a.common, a.bulk_bcast));
  if (*stream) return finish(bench::stream::run(a.common, a.stream));
  if (*security) return finish(bench::security::run(a.common, a.security));
  if (*verbs) return finish(bench::verbs::run(a.common, a.verbs));
  if (*coro) return finish(bench::coro::run(a.common));
  if (*gossip) return finish(bench::gossip::run(a.common, a.gossip));
  if (*alone) return finish(bench::alone::run(a.common, a.alone));
  if (*compile) return finish(bench::compile::run(a.common));
  return finish(bench::bcast::run(a.common, a.bcast));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return measure(argc, argv);
  } catch (const std::exception& e) {
    bench::show_progress("");
    std::fprintf(stderr, "scoll-bench: %s\n", e.what());
    return 2;
  }
}
