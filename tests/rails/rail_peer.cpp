#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "tests/rails/peer_load.hpp"
#include "tests/rails/peer_node.hpp"
#include "tools/common/command_line.hpp"
#include "transport/io/control_socket.hpp"

/// One node with rails, for tests in network namespaces. Its standard input and output are one stream socket,
/// which carries lines of JSON: commands in, answers and events out. It ends with the socket.
namespace scoll::rail_test {
namespace {

using namespace transport;
using nlohmann::ordered_json;

double milliseconds_of(nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

/// Writes a line at once, so that it is not lost with the process.
void tell(const ordered_json& what) {
  const std::string line = what.dump() + "\n";
  for (std::size_t at = 0; at < line.size();) {
    const ssize_t sent = ::send(STDOUT_FILENO, line.data() + at, line.size() - at, MSG_NOSIGNAL);
    if (sent <= 0) return;
    at += static_cast<std::size_t>(sent);
  }
}

void tell_over(const work_over& w) {
  ordered_json line{{"event", w.outcome ? "over" : "failed"},
                    {"what", w.what},
                    {"peer", w.peer},
                    {"number", w.number},
                    {"took_ms", milliseconds_of(w.took)}};
  if (!w.outcome) line["text"] = describe(w.outcome.error());
  tell(line);
}

void tell_begun(std::string_view what, node_id peer) {
  tell({{"event", "begun"}, {"what", what}, {"peer", peer}});
}

void tell_lost(node_id peer, const error& reason) {
  tell({{"event", "session_lost"}, {"peer", peer}, {"text", describe(reason)}});
}

ordered_json counters_of(const endpoint_statistics& s) {
  return {{"sessions_lost", s.sessions_lost},
          {"path_moves", s.path_moves},
          {"path_suspicions", s.path_suspicions},
          {"path_deaths", s.path_deaths},
          {"duplicates", s.duplicates},
          {"replays", s.replays},
          {"links_cut", s.links_cut},
          {"links_ended_as_told", s.links_ended_as_told},
          {"links_half_dead", s.links_half_dead},
          {"links_broken", s.links_broken},
          {"link_downs_sent", s.link_downs_sent},
          {"bulk_lost", s.bulk_lost},
          {"silences", s.silences},
          {"bytes_sent", s.bytes_sent},
          {"bytes_received", s.bytes_received}};
}

ordered_json paths_of(const session& peer) {
  ordered_json all = ordered_json::array();
  for (const path& each : peer.paths()) {
    const path_key key = each.key();
    all.push_back({{"own", key.own},
                   {"theirs", key.theirs},
                   {"health", to_string(each.health())},
                   {"control", peer.connected_by(traffic_class::call, key)},
                   {"bulk", peer.connected_by(traffic_class::bulk, key)},
                   {"active", peer.path_of(traffic_class::call) == key},
                   {"suspicions", each.suspicions()},
                   {"deaths", each.deaths()},
                   {"why", each.why() ? describe(each.why()) : ""}});
  }
  return all;
}

ordered_json load_of(const peer_load& load) {
  return {{"calls", load.calls()},
          {"pulls", load.pulls()},
          {"failures", load.failures()},
          {"damaged", load.damaged()},
          {"longest_call_ms", milliseconds_of(load.longest_call())},
          {"longest_pull_ms", milliseconds_of(load.longest_pull())},
          {"longest_lateness_ms", milliseconds_of(load.longest_lateness())}};
}

ordered_json state_of(peer_node& node, const peer_load& load) {
  ordered_json state = load_of(load);
  state.update({{"served", node.served()}, {"twice", node.twice()}, {"damaged_requests", node.damaged()}});
  state.update(counters_of(node.wire().statistics()));
  ordered_json& peers = state["peers"];
  peers = ordered_json::object();
  node.wire().sessions([&](const session& peer) {
    peers[std::to_string(peer.peer())] = {{"round_trip_ms", milliseconds_of(peer.rtt().safe())},
                                          {"paths", paths_of(peer)}};
  });
  return state;
}

/// The duration that a share of them (0 to 1) did not exceed.
double quantile_ms(std::vector<nanoseconds>& times, double share) {
  const auto at =
      std::min(static_cast<std::size_t>(share * static_cast<double>(times.size())), times.size() - 1);
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(at));
  return milliseconds_of(times[at]);
}

/// Makes calls one after the other, and adds to the answer how long they took.
task<void> time_calls(const ordered_json& command, node_id peer, nanoseconds pause, peer_load& load,
                      ordered_json& answer) {
  std::vector<nanoseconds> times =
      co_await load.time_calls(peer, command.at("count").get<std::size_t>(), pause);
  answer["calls"] = times.size();
  if (times.empty()) co_return;
  answer["p50_ms"] = quantile_ms(times, 0.5);
  answer["p99_ms"] = quantile_ms(times, 0.99);
}

/// Carries out a command, and adds to the answer.
task<void> obey(const ordered_json& command, peer_node& node, peer_load& load, ordered_json& answer) {
  const std::string what = command.at("do");
  const node_id peer = command.value("peer", node_id{0});
  const nanoseconds pause = std::chrono::microseconds(command.value("pause_us", 0));
  if (what == "call") {
    for (int i = command.value("callers", 1); i > 0; --i) load.keep_calling(peer, pause);
  } else if (what == "pull") {
    load.keep_pulling(peer, pause);
  } else if (what == "time_calls") {
    co_await time_calls(command, peer, pause, load, answer);
  } else if (what == "call_once") {
    load.call_once(peer);
  } else if (what == "pull_once") {
    load.pull_once(peer);
  } else if (what == "push_once") {
    load.push_once(peer);
  } else if (what == "mark") {
    answer["state"] = state_of(node, load);
    load.mark();
  } else if (what == "state") {
    answer["state"] = state_of(node, load);
  } else if (what == "changed") {
    answer["changed_bytes"] = co_await load.changed_bytes();
  } else if (what == "end") {
    co_await load.end();
    answer["state"] = state_of(node, load);
    answer["changed_bytes"] = co_await load.changed_bytes();
  } else {
    answer["error"] = "there is no such command";
  }
}

task<void> attend(reactor& loop, peer_node& node, peer_load& load) {
  control_connection harness(loop, unique_fd(::dup(STDIN_FILENO)));
  for (;;) {
    const auto line = co_await harness.read_line({});
    if (!line) co_return;
    const ordered_json command = ordered_json::parse(*line);
    ordered_json answer{{"answer", command.at("id")}};
    co_await obey(command, node, load, answer);
    tell(answer);
  }
}

struct arguments {
  node_settings node;
  std::vector<std::string> rails;
  std::vector<std::string> peers;
  std::uint32_t prove_ms = 1000;
};

/// Introduces the peers, each as "2=10.0.0.2:7001,10.1.0.2:7001".
status introduce(endpoint& to, const std::vector<std::string>& peers) {
  for (const std::string& peer : peers) {
    const std::size_t sign = peer.find('=');
    if (sign == std::string::npos)
      return make_error(errc::invalid_argument, "{} is not ID=ADDRESS,...", peer);
    std::vector<std::string> addresses = CLI::detail::split(peer.substr(sign + 1), ',');
    const status known = to.add_peer(std::stoull(peer.substr(0, sign)), addresses);
    if (!known) return known;
  }
  return {};
}

int fail(const error& reason) {
  fmt::print(stderr, "rail_peer: {}\n", describe(reason));
  return 1;
}

int go(int argc, char** argv) {
  arguments args;
  CLI::App app("A node with rails, for tests: commands and answers are lines of JSON on a socket.");
  app.add_option("--node", args.node.self, "Its id")->required();
  app.add_option("--rail", args.rails, "A rail: ADDRESS:PORT, /PREFIX and %DEVICE after it")->required();
  app.add_option("--peer", args.peers, "A peer: ID=ADDRESS:PORT,... in the order of its rails");
  app.add_option("--prove-ms", args.prove_ms, "How long a rail that is back proves itself");
  if (const auto ended = kit::read_command_line(app, argc, argv)) return *ended;
  for (const std::string& text : args.rails) {
    const auto place = rail_place::parse(text);
    if (!place) return fail(make_error(errc::invalid_argument, "{} is not a rail", text));
    args.node.rails.push_back(*place);
  }
  args.node.prove = std::chrono::milliseconds(args.prove_ms);

  const auto loop = reactor::create().value();
  peer_node node(*loop, args.node, &tell_lost);
  const status started = node.start();
  if (!started) return fail(started.error());
  const status met = introduce(node.wire(), args.peers);
  if (!met) return fail(met.error());
  peer_load load(*loop, node, &tell_begun, &tell_over);
  load.watch_lateness();
  tell({{"event", "ready"}});
  sync_wait(*loop, attend(*loop, node, load));
  ::_exit(0);  // what still waits for peers is not waited for
}

}  // namespace
}  // namespace scoll::rail_test

int main(int argc, char** argv) {
  try {
    return scoll::rail_test::go(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "rail_peer: {}\n", e.what());
    return 1;
  }
}
