#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>

#include "scoll/collective/bcast.hpp"
#include "scoll/node_control.hpp"
#include "scoll/ship/ship.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"
#include "tests/scoll/node/counted.hpp"
#include "tests/scoll/node/metrics_parser.hpp"
#include "transport/io/control_client.hpp"
#include "transport/io/socket.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using nlohmann::json;
using test::count;
using test::twice;

namespace {

/// Works until its gate opens.
struct slow {
  static constexpr service_id id{0x0101};
  struct request {};
  using reply = std::uint64_t;
  event* gate;
  task<result<reply>> execute(const request&, bcast_context& at) const {
    (co_await gate->wait(at.stop())).ignore();
    co_return reply{1};
  }
  static void merge(reply& into, const reply& from) noexcept { into += from; }
};

constexpr remote_function<std::uint32_t, nothing> fail{"test.fail"};

/// Some nodes on one reactor, of which the first has a control socket.
struct observed {
  explicit observed(std::uint32_t nodes)
      : c(test::world_kind::tcp_v4, nodes),
        control(c[0], dynamic_cast<transport::reactor&>(c.get_executor()), path_in_temporary_folder()) {
    c.serve(count{});
    control.open().value();
  }
  ~observed() { c.run(control.close()); }
  observed(const observed&) = delete;
  observed& operator=(const observed&) = delete;

  static std::string path_in_temporary_folder() {
    return (std::filesystem::temp_directory_path() / ("scoll-" + std::to_string(getpid()) + "-{node}.sock"))
        .string();
  }

  /// Runs a client on a thread of its own while the nodes run here.
  template <class Work>
  auto beside(Work work) {
    auto done = std::async(std::launch::async, std::move(work));
    REQUIRE(c.until([&] { return done.wait_for(0s) == std::future_status::ready; }));
    return done.get();
  }
  /// All lines of the answer.
  std::string ask_text(const std::string& command) {
    return beside([path = control.path(), command] {
      auto client = transport::control_client::connect(path).value();
      client.send_line(command);
      std::string text;
      while (const auto line = client.read_line(10s)) text.append(*line).append("\n");
      return text;
    });
  }
  json ask(const std::string& command) { return json::parse(ask_text(command)); }

  test::cluster c;
  node_control control;
};

}  // namespace

TEST_CASE("a control socket answers its own user alone, whatever the permissions of its file") {
  observed o(1);
  constexpr uid_t nobody = 65534;
  if (::geteuid() != 0) {
    WARN("only root can try this, as another user");
    return;
  }
  REQUIRE(::chmod(o.control.path().c_str(), 0666) == 0);
  // The answer's size: a client of another user hears nothing.
  const auto heard_by = [&](uid_t user) {
    return o.beside([path = o.control.path(), user] {
      const pid_t asking = ::fork();
      if (asking == 0) {
        if (::setuid(user) != 0) ::_exit(2);
        auto client = transport::control_client::connect(path);
        if (!client) ::_exit(3);
        client->send_line("peers");
        ::_exit(client->read_line(5s) ? 1 : 0);
      }
      int how = -1;
      ::waitpid(asking, &how, 0);
      return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
    });
  };
  CHECK(heard_by(0) == 1);
  CHECK(heard_by(nobody) == 0);
}

TEST_CASE("a control without a path serves nothing", "[reactor]") {
  test::cluster c(test::world_kind::tcp_v4, 1);
  node_control none(c[0], dynamic_cast<transport::reactor&>(c.get_executor()), "");
  CHECK(none.open().has_value());
  c.run(none.close());
  CHECK(none.path().empty());
}

TEST_CASE("a node answers about its peers", "[tcp]") {
  observed o(3);
  CHECK(o.control.path().ends_with("-1.sock"));
  auto g = o.c.make_group<count>(0, flat{});
  REQUIRE(o.c.bcast(g, {}).ok());
  const json all = o.ask("peers");
  CHECK(all["node"] == 1);
  REQUIRE(all["peers"].size() == 2);
  CHECK_FALSE(all.contains("next"));
  const json& second = all["peers"][0];
  CHECK(second["id"] == 2);
  CHECK(second["state"] == "up");
  CHECK(second["incarnation"] == 1);
  CHECK(second["lanes"]["control"] == true);
  CHECK(second["lanes"]["bulk"] == false);
  CHECK(second["credit"]["collective"].get<int>() > 0);
  CHECK(second["queued"]["collective"] == 0);
  CHECK(second["last_failure"].is_null());
  o.c[0].on_dead(3, 1);
  CHECK(o.ask("peers 3")["peers"].size() == 1);
  const json third = o.ask("peer 3");
  CHECK(third["peer"]["state"] == "dead");
  const bool tells_the_loss = std::ranges::any_of(
      third["events"], [](const json& e) { return e["kind"] == "session_lost" && e["peer"] == 3; });
  CHECK(tells_the_loss);
}

TEST_CASE("a node answers about groups, operations, bounds and events", "[tcp]") {
  observed o(2);
  auto g = o.c.make_group<count>(0, flat{});
  const json groups = o.ask("groups");
  REQUIRE(groups["groups"].size() == 1);
  CHECK(groups["groups"][0]["members"] == 2);
  CHECK(o.ask("groups 1.1.1")["groups"].size() == 1);
  CHECK(o.ask("groups 1.1.2")["groups"].empty());
  CHECK(o.ask("operations")["operations"].empty());
  const json memory = o.ask("memory");
  CHECK(memory["resources"][0] == json({{"name", "operations"},
                                        {"used", 0},
                                        {"limit", 1024},
                                        {"about", "broadcasts and group operations that run here"}}));
  const json events = o.ask("events");
  REQUIRE(events["events"].size() == 2);
  CHECK(events["events"][0]["kind"] == "session_begun");
  CHECK(o.ask("events 1")["events"].size() == 1);
}

TEST_CASE("a node tells of its security", "[tcp]") {
  observed o(1);
  const json security = o.ask("security");
  CHECK(security["node"] == 1);
  CHECK(security["mode"] == "none");
  CHECK(security["fabric"] == "refused");
  CHECK(security["keys"].empty());
  CHECK(security["certificate_seconds"].is_null());
  for (const char* count :
       {"not_authentic", "older_keys", "unknown_keys", "certificates_outdated", "certificates_misnamed"})
    CHECK(security[count] == 0);
}

TEST_CASE("an operation under way is shown with what it waits for", "[tcp]") {
  event gate;
  observed o(2);
  o.c.serve(slow{&gate});
  auto g = o.c.make_group<slow>(1, flat{});
  scope running(o.c.get_executor());
  const auto ask = [&]() -> task<void> { static_cast<void>(co_await bcast(g, slow::request{})); };
  running.spawn(ask());
  REQUIRE(o.c.until([&] { return !o.c[0].operations(0, 1).empty(); }));
  const json now = o.ask("operations");
  REQUIRE(now["operations"].size() == 1);
  const json& one = now["operations"][0];
  CHECK(one["kind"] == "broadcast");
  CHECK(one["root"] == 2);
  CHECK(one["stage"] == "running");
  CHECK(one["hooks"] == "execute");
  CHECK(one["age_ms"].get<double>() >= 0);
  gate.set();
  REQUIRE(o.c.until([&] { return running.running() == 0; }));
  REQUIRE(running.try_join());
}

TEST_CASE("calls and metrics tell each function with its latencies", "[tcp]") {
  observed o(2);
  o.c[0].serve(twice, [](const std::uint32_t& n, call_context&) { return 2 * n; }).value();
  o.c[0]
      .serve(fail, [](const std::uint32_t&, call_context&) -> status { return error(errc::busy, "no"); })
      .value();
  const auto call = [&]() -> task<std::uint32_t> {
    const auto refused = co_await ship(o.c[1], 1, fail, 1U);
    const auto answer = co_await ship(o.c[1], 1, twice, 21U);
    co_return answer && !refused ? *answer : 0;
  };
  REQUIRE(o.c.run(call()) == 42);
  const json calls = o.ask("calls");
  CHECK(calls["calls"].empty());
  REQUIRE(calls["functions"].size() == 3);  // with the library's own
  std::uint64_t failures = 0;
  for (const json& f : calls["functions"]) {
    if (f["name"] == "scoll.bcast") continue;
    CHECK(f["calls"] == 1);
    CHECK(f["p99_ms"].get<double>() > 0);
    failures += f["failures"].get<std::uint64_t>();
  }
  CHECK(failures == 1);

  const std::string text = o.ask_text("metrics");
  CHECK(text.ends_with("# EOF\n"));
  const auto series = test::parse_metrics(text);
  CHECK(series.at("scoll_node_info{node=\"1\",incarnation=\"1\"}") == 1);
  CHECK(series.at("scoll_calls_received_total") == 2);
  CHECK(series.at("scoll_frames_received_total") >= 2);
  CHECK(series.at("scoll_reactor_turns_total") > 0);
  CHECK(series.at("scoll_peers_connected") == 1);
  CHECK(series.at("scoll_resource_limit{resource=\"operations\"}") == 1024);
  CHECK(series.at("scoll_events_total{kind=\"session_begun\"}") == 1);
  CHECK(series.at("scoll_function_failures_total{function=\"test.fail\"}") == 1);
  CHECK(series.at("scoll_function_seconds_count{function=\"test.twice\"}") == 1);
}

TEST_CASE("a long list comes in portions", "[tcp]") {
  observed o(2);
  for (node_id i = 3; i <= 600; ++i) o.c[0].add_peer(i, "127.0.0.1:9").value();
  const json first = o.ask("peers");
  CHECK(first["peers"].size() == 256);
  CHECK(first["next"] == "258");
  const json second = o.ask("peers " + first["next"].get<std::string>());
  CHECK(second["peers"].size() == 256);
  CHECK(second["peers"][0]["id"] == 258);
  const json last = o.ask("peers " + second["next"].get<std::string>());
  CHECK(last["peers"].size() == 599 - 512);
  CHECK_FALSE(last.contains("next"));
  test::parse_metrics(o.ask_text("metrics"));
}

TEST_CASE("a wrong command is refused with a reason", "[tcp]") {
  observed o(2);
  const auto why = [&](const std::string& command) {
    return o.ask(command)["error"]["code"].get<std::string>() + ": " +
           o.ask(command)["error"]["text"].get<std::string>();
  };
  CHECK(why("metrcs") == "not_found: there is no command 'metrcs': did you mean metrics?");
  CHECK(why("") == "not_found: there is no command '': try peers, groups or metrics");
  CHECK(why("peer 9") == "not_found: node 1 does not know node 9");
  CHECK(why("peer x") == "invalid_argument: peer takes a number, not 'x'");
  CHECK(why("peer") == "invalid_argument: peer takes the number of a node, such as: peer 3");
  CHECK(why("groups 1.2") == "invalid_argument: groups takes the id of a group, such as 1.7.3, not '1.2'");
  CHECK(why("events soon") == "invalid_argument: events takes a number and the word follow");
}

TEST_CASE("who asks too often is answered busy", "[tcp]") {
  observed o(1);
  const auto asked = o.beside([path = o.control.path()] {
    std::size_t answered = 0;
    for (std::size_t i = 0; i < 10 * node_control::most_commands_per_second; ++i) {
      auto client = transport::control_client::connect(path).value();
      client.send_line("peers");
      const auto line = client.read_line(10s);
      if (!line) return std::pair(answered, std::string("nothing"));
      const json answer = json::parse(*line);
      if (answer.contains("error")) return std::pair(answered, answer["error"]["code"].get<std::string>());
      ++answered;
    }
    return std::pair(answered, std::string("never"));
  });
  CHECK(asked.first >= node_control::most_commands_per_second);
  CHECK(asked.second == "busy");
}

TEST_CASE("a client may follow the events, and too many may not", "[tcp]") {
  observed o(2);
  std::vector<transport::control_client> followers;
  for (std::size_t i = 0; i <= node_control::most_followers; ++i) {
    followers.push_back(transport::control_client::connect(o.control.path()).value());
    followers.back().send_line("events follow");
  }
  auto& last = followers.back();
  const auto refused = o.beside([&last] { return json::parse(last.read_line(10s).value()); });
  CHECK(refused["error"]["code"] == "busy");
  o.c[0].on_dead(2, 1);
  auto& first = followers.front();
  const auto told = o.beside([&first] { return json::parse(first.read_line(10s).value()); });
  CHECK(told["kind"] == "peer_dead");
  CHECK(told["peer"] == 2);
  followers.clear();
  // Once those have gone, there is room for others.
  REQUIRE(o.c.until([&] {
    const std::string text = o.beside([path = o.control.path()] {
      auto client = transport::control_client::connect(path).value();
      client.send_line("events follow");
      return client.read_line(10s).value();
    });
    return json::parse(text).contains("kind");
  }));
}

TEST_CASE("closing a control ends its answers and removes its socket", "[tcp]") {
  observed o(1);
  auto client = transport::control_client::connect(o.control.path()).value();
  client.send_line("events follow");
  auto idle = transport::control_client::connect(o.control.path()).value();
  o.c.run_once(1ms);
  const std::string path = o.control.path();
  o.c.run(o.control.close());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(client.wait_for_end(10s));
  CHECK(idle.wait_for_end(10s));
  REQUIRE(o.control.open().has_value());
  CHECK(o.ask("peers")["node"] == 1);
}

TEST_CASE("who sends what is no frame is an event, and is cut off", "[tcp]") {
  observed o(1);
  const auto address = transport::socket_address::parse(o.c.address(0)).value();
  const auto stranger = transport::open_stream(address.family()).value();
  REQUIRE(::connect(stranger.get(), address.data(), address.size()) == 0);
  const std::string nonsense(200, 'x');
  REQUIRE(::send(stranger.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL) == 200);
  REQUIRE(o.c.until([&] { return o.c[0].event_count(node_event_kind::link_broken) == 1; }));
  const json events = o.ask("events")["events"];
  REQUIRE(events.size() == 1);
  CHECK(events[0]["kind"] == "link_broken");
  CHECK(events[0]["level"] == "error");
  CHECK(events[0]["peer"] == 0);
  CHECK(events[0]["text"].get<std::string>().find("an unknown node") != std::string::npos);
}

TEST_CASE("a control does not take the socket of a living one", "[tcp]") {
  observed o(1);
  node_control second(o.c[0], dynamic_cast<transport::reactor&>(o.c.get_executor()), o.control.path());
  CHECK(second.open().error() == errc::busy);
}
