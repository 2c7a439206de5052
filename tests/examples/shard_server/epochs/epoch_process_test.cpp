#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "epoch_history.hpp"
#include "long_tests.hpp"
#include "scoll/coro/random.hpp"
#include "server_processes.hpp"
#include "tests/catch.hpp"

using namespace std::chrono_literals;
using nlohmann::json;
using shard_tests::epoch_history;
using shard_tests::is_long;
using shard_tests::server_processes;
using shard_tests::until;

namespace {

/// Real servers that are killed, clients that ask them for epochs, and what all of them have seen.
class stormy_cluster {
 public:
  explicit stormy_cluster(std::uint64_t seed) : random_(seed), cluster_(5) {}

  /// Clients ask for epochs while servers are killed and started, for a while.
  void rage(std::chrono::seconds how_long) {
    REQUIRE(until([&] { return all_answer(); }));
    std::vector<std::thread> clients;
    for (std::uint64_t i = 0; i != 3; ++i) clients.emplace_back([this, i] { commit_again_and_again(i); });
    const auto end = std::chrono::steady_clock::now() + how_long;
    while (std::chrono::steady_clock::now() < end) {
      strike();
      std::this_thread::sleep_for(std::chrono::milliseconds(100 + random_.below(900)));
      observe_all();
    }
    over_ = true;
    for (std::thread& each : clients) each.join();
  }

  /// Starts all servers, and waits until they stand at one epoch.
  void settle() {
    for (const std::uint64_t each : cluster_.servers()) start(each);
    const bool together = until([&] { return stand_together(); });
    observe_all();
    if (!together) {
      for (const std::uint64_t each : cluster_.servers()) UNSCOPED_INFO(cluster_.log_of(each));
    }
    history_.end(cluster_.servers());
    CHECK(together);
  }

  std::uint64_t kills() const noexcept { return kills_; }
  const epoch_history& history() const noexcept { return history_; }

 private:
  void start(std::uint64_t server) {
    if (!cluster_.runs(server)) cluster_.start(server);
  }
  void kill(std::uint64_t server) {
    if (!cluster_.runs(server)) return;
    cluster_.kill(server);
    ++kills_;
  }

  /// Kills one server, two or, seldom, all of them; starts some of those that do not run.
  void strike() {
    const std::uint64_t what = random_.below(10);
    for (const std::uint64_t each : cluster_.servers()) {
      if (what == 0 || random_.below(5) == 0) kill(each);
    }
    for (const std::uint64_t each : cluster_.servers()) {
      if (what == 0 || random_.below(3) != 0) start(each);
    }
  }

  void commit_again_and_again(std::uint64_t client) {
    for (std::uint64_t number = 0; !over_; ++number) {
      const std::uint64_t server = cluster_.servers()[(client + number) % cluster_.servers().size()];
      const std::string note = fmt::format("client {}, epoch {}", client, number);
      std::size_t request = 0;
      {
        const std::lock_guard alone(mutex_);
        request = history_.begin();
      }
      const auto answer = cluster_.ask(server, {{"command", "commit"}, {"note", note}, {"timeout_s", 5}});
      if (!answer) std::this_thread::sleep_for(10ms);
      if (!answer || (*answer)["status"]["code"] != "ok") continue;
      const std::lock_guard alone(mutex_);
      const json& value = (*answer)["value"];
      if (value["epoch_note"] != note) history_.blame("an answer to somebody else: " + answer->dump());
      history_.acknowledge(request, value["epoch"], text_in(value));
    }
  }

  static std::string text_in(const json& value) {
    if (value["epoch"] == 0) return "";
    return fmt::format("{} of {}", value["epoch_note"].get<std::string>(),
                       value["epoch_by"].get<std::string>());
  }
  void observe_all() {
    for (const std::uint64_t each : cluster_.servers()) {
      if (!cluster_.runs(each)) continue;
      const auto status = cluster_.status(each);
      const std::lock_guard alone(mutex_);
      if (status) history_.observe(each, (*status)["epoch"], text_in(*status));
    }
  }
  bool all_answer() const {
    return std::ranges::all_of(cluster_.servers(), [&](auto id) { return cluster_.status(id).has_value(); });
  }
  /// Everybody is at the latest epoch that was seen, and none is being voted for.
  bool stand_together() const {
    std::set<std::string> places;
    for (const std::uint64_t each : cluster_.servers()) {
      const auto status = cluster_.status(each);
      if (!status || (*status)["epoch_settled"] == false) return false;
      places.insert(text_in(*status));
    }
    return places.size() == 1 && quiet_for_a_while(*places.begin());
  }
  /// One that has just been started may still find out more.
  bool quiet_for_a_while(const std::string& place) const {
    const auto answer = cluster_.ask(cluster_.servers().front(), {{"command", "epoch"}, {"timeout_s", 5}});
    if (!answer || (*answer)["status"]["code"] != "ok") return false;
    const json& value = (*answer)["value"];
    return value["lowest"] == value["epoch"] && value["open"] == false && text_in(value) == place;
  }

  scoll::random_generator random_;
  server_processes cluster_;
  std::mutex mutex_;
  epoch_history history_;
  std::atomic<bool> over_ = false;
  std::uint64_t kills_ = 0;
};

void ride_out(std::uint64_t seed, std::chrono::seconds how_long) {
  INFO("seed " << seed);
  stormy_cluster storm(seed);
  storm.rage(how_long);
  storm.settle();
  const epoch_history& h = storm.history();
  INFO(fmt::format("{}", fmt::join(h.faults(), "\n")));
  if (is_long())
    WARN("seed " << seed << ": " << storm.kills() << " kills, " << h.requests() << " requests, "
                 << h.acknowledged() << " epochs acknowledged");
  CHECK(h.faults().empty());
  CHECK(storm.kills() > 5);
  CHECK(h.acknowledged() > 5);
}

}  // namespace

TEST_CASE("real servers that are killed while epochs are committed lose none", "[epochs][processes]") {
  if (!is_long()) return ride_out(1, 12s);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) ride_out(seed, 30s);
}
