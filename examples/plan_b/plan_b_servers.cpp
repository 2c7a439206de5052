// Servers pass blocks round a ring. One of them is killed in the middle. The first server to notice revokes
// the group of the ring, so that no server waits any longer. The survivors shrink the group and continue with
// the blocks that are left. The program prints something like:
//   0.52 s  server 4 is killed
//   1.55 s  server 5: plan A ended, 1.03 s after the kill: unreachable: ...
//   1.55 s  server 5: revoked server 4 does not answer
//   1.55 s  server 2: plan A ended, 1.03 s after the kill: revoked: ...
//   1.57 s  server 1: plan 1 servers 1 2 3 5 6 go on at block 1003
//   2.30 s  server 1: back all 4000 blocks, and every sum is right
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "children.hpp"
#include "server.hpp"

namespace {

enum exit_code { as_expected = 0, otherwise = 1, bad_usage = 2 };

struct arguments {
  plan_b::server_options server{0, 6, 4000, 5000, true};
  std::uint64_t victim = 0;  ///< 0: one in the middle
  std::uint32_t kills = 1;
  std::uint32_t runs = 1;
  std::uint64_t seed = 1;
  bool without_revoke = false;
  bool json = false;
};

/// One run, told line by line with the time since its beginning.
class story {
 public:
  story(const arguments& args, std::uint64_t seed, bool aloud) : args_(args), random_(seed), aloud_(aloud) {}

  exit_code run();
  /// The time from the first kill until the last survivor had left plan A.
  double last_heard() const;
  std::size_t kills() const noexcept { return killed_.size(); }

 private:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  template <class... Args>
  void say(fmt::format_string<Args...> form, Args&&... args) const {
    if (!aloud_) return;
    fmt::print("{:6.2f} s  {}\n", now(), fmt::format(form, std::forward<Args>(args)...));
    std::fflush(stdout);
  }
  std::vector<std::string> arguments_of(std::uint64_t id) const;
  bool begin();
  void hear(std::size_t which, std::string_view line);
  void hear_end(std::uint64_t id, std::string_view text);
  void kill(std::uint64_t id);
  void kill_others();
  std::size_t survivors() const { return args_.server.servers - killed_.size(); }
  std::size_t count(const std::set<std::uint64_t>& who) const;
  exit_code judge_revoked();
  exit_code judge_waiting() const;

  arguments args_;
  std::mt19937_64 random_;
  bool aloud_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  plan_b::children servers_;
  std::map<std::uint64_t, std::string> addresses_;
  std::set<std::uint64_t> killed_;
  double killed_at_ = 0;
  std::map<std::uint64_t, double> ended_;  // plan A, by server
  std::set<std::uint64_t> finished_, failed_;
  std::map<std::uint64_t, std::string> reasons_;  // of those that failed
  bool all_back_ = false;
};

std::vector<std::string> story::arguments_of(std::uint64_t id) const {
  const plan_b::server_options& o = args_.server;
  std::vector<std::string> words{
      "--serve",  std::to_string(id),       "--servers",     std::to_string(o.servers),
      "--blocks", std::to_string(o.blocks), "--deadline-ms", std::to_string(o.deadline_ms)};
  if (args_.without_revoke) words.emplace_back("--without-revoke");
  return words;
}

void story::kill(std::uint64_t id) {
  servers_.kill(id - 1);
  if (killed_.empty()) killed_at_ = now();
  killed_.insert(id);
  say("server {} is killed", id);
}

/// Kills more servers while the others hear of the first one.
void story::kill_others() {
  while (killed_.size() < args_.kills) {
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 3000));
    std::uint64_t id = 1 + random_() % args_.server.servers;
    while (killed_.contains(id)) id = 1 + id % args_.server.servers;
    kill(id);
  }
}

std::size_t story::count(const std::set<std::uint64_t>& who) const {
  return static_cast<std::size_t>(
      std::count_if(who.begin(), who.end(), [this](std::uint64_t id) { return !killed_.contains(id); }));
}

void story::hear_end(std::uint64_t id, std::string_view text) {
  const bool first = ended_.empty();
  if (!text.starts_with("0 ")) return say("server {}: a later plan ended: {}", id, text.substr(2));
  ended_[id] = now();
  say("server {}: plan A ended, {:.2f} s after the kill: {}", id, now() - killed_at_, text.substr(2));
  if (first) kill_others();
}

void story::hear(std::size_t which, std::string_view line) {
  const std::uint64_t id = which + 1;
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  const std::string_view text = space == std::string_view::npos ? "" : line.substr(space + 1);
  if (word == "address") {
    addresses_[id] = text;
  } else if (word == "block") {
    const std::uint64_t number = std::stoull(std::string(text));
    if (killed_.empty() && id == args_.victim && number >= args_.server.blocks / 4) kill(id);
  } else if (word == "ended") {
    hear_end(id, text);
  } else if (word == "finished") {
    finished_.insert(id);
  } else {
    if (word == "failed") {
      failed_.insert(id);
      reasons_.emplace(id, text);
    }
    all_back_ |= word == "back";
    say("server {}: {} {}", id, word, text);
  }
}

/// Starts the servers and tells each the addresses of all.
bool story::begin() {
  for (std::uint64_t id = 1; id <= args_.server.servers; ++id) servers_.start(arguments_of(id));
  const auto hear_them = [this](std::size_t which, std::string_view line) { hear(which, line); };
  const auto all_known = [this] { return addresses_.size() == args_.server.servers; };
  if (!servers_.read(30, all_known, hear_them)) return false;
  std::string all;
  for (const auto& [id, address] : addresses_) all += fmt::format("{} {}\n", id, address);
  say("{} servers pass {} blocks round a ring", args_.server.servers, args_.server.blocks);
  servers_.write_to_all(all);
  return true;
}

exit_code story::run() {
  if (!begin()) {
    fmt::print(stderr, "plan_b_servers: the servers did not start\n");
    return otherwise;
  }
  const auto hear_them = [this](std::size_t which, std::string_view line) { hear(which, line); };
  const auto done = [this] {
    if (killed_.empty()) return false;
    return args_.without_revoke ? ended_.size() == survivors()
                                : count(finished_) + count(failed_) == survivors();
  };
  servers_.read(60 + 2e-3 * args_.server.deadline_ms, done, hear_them);
  return args_.without_revoke ? judge_waiting() : judge_revoked();
}

double story::last_heard() const {
  double last = 0;
  for (const auto& [id, at] : ended_) last = std::max(last, at - killed_at_);
  return last;
}

exit_code story::judge_revoked() {
  bool good = all_back_ && !killed_.empty() && count(finished_) == survivors();
  for (std::uint64_t id = 1; id <= args_.server.servers; ++id)
    good = good && (killed_.contains(id) || servers_.ended_well(id - 1));
  if (!good) {
    const std::size_t ended = count(finished_) + count(failed_);
    std::FILE* const out = args_.json ? stderr : stdout;
    fmt::print(out, "of {} survivors {} finished, {} failed, and {} are still waiting\n", survivors(),
               count(finished_), count(failed_), survivors() - ended);
    for (const auto& [id, why] : reasons_) fmt::print(out, "  server {} failed: {}\n", id, why);
    return otherwise;
  }
  if (aloud_)
    fmt::print("all {} survivors finished; the last one left plan A {:.2f} s after the kill\n", survivors(),
               last_heard());
  return as_expected;
}

/// Without a revoke only the neighbour of the dead server notices. The others wait until their deadline.
exit_code story::judge_waiting() const {
  const double deadline = 1e-3 * args_.server.deadline_ms;
  std::size_t waited = 0;
  for (const auto& [id, at] : ended_) waited += at - killed_at_ > 0.9 * deadline;
  if (ended_.size() != survivors() || waited == 0) {
    fmt::print("{} of {} survivors ended, and {} waited until the deadline\n", ended_.size(), survivors(),
               waited);
    return otherwise;
  }
  fmt::print("without a revoke {} of {} survivors waited for their deadline of {:.1f} s\n", waited,
             survivors(), deadline);
  return as_expected;
}

/// What came of all runs so far.
struct tally {
  std::uint32_t runs = 0;
  std::size_t kills = 0;
  double slowest = 0;

  void show(bool json, bool ok) const {
    if (json) {
      fmt::print("{{\"runs\":{},\"kills\":{},\"ok\":{},\"slowest_s\":{:.3f}}}\n", runs, kills, ok, slowest);
    } else if (ok) {
      fmt::print("{} runs, {} kills: every survivor finished; the slowest left plan A after {:.2f} s\n", runs,
                 kills, slowest);
    }
    std::fflush(stdout);
  }
};

/// Repeats the story with other victims.
exit_code repeat(arguments args) {
  std::mt19937_64 random(args.seed);
  tally all;
  while (all.runs < args.runs) {
    args.victim = 1 + random() % args.server.servers;
    const std::uint64_t seed = random();
    story told(args, seed, false);
    const bool ok = told.run() == as_expected;
    ++all.runs;
    all.kills += told.kills();
    all.slowest = std::max(all.slowest, told.last_heard());
    if (!ok) fmt::print(args.json ? stderr : stdout, "run {} of --seed {} failed\n", all.runs, args.seed);
    if (!ok || all.runs % 10 == 0 || all.runs == args.runs) all.show(args.json, ok);
    if (!ok) return otherwise;
  }
  return as_expected;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Servers pass blocks round a ring, and one of them is killed. The others revoke the group of the\n"
      "ring, shrink it, and go on with plan B. Exit codes: 0 it went as it should, 1 it did not, 2 bad "
      "usage.");
  arguments args;
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // after those of ./dev soak
  app.add_option("--servers", args.server.servers, "Servers, each a process")
      ->check(CLI::Range(3, 64))
      ->capture_default_str();
  app.add_option("--blocks", args.server.blocks, "Blocks that go round")
      ->check(CLI::Range(100, 10'000'000))
      ->capture_default_str();
  app.add_option("--victim", args.victim, "The server to kill; one in the middle if not given");
  app.add_option("--deadline-ms", args.server.deadline_ms, "Deadline of each pull, in milliseconds")
      ->check(CLI::Range(100, 600'000))
      ->capture_default_str();
  app.add_option("--kills", args.kills, "Servers to kill: the victim, and others while the news spreads")
      ->capture_default_str();
  app.add_option("--runs", args.runs, "Repeat it with victims drawn from the seed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--json", args.json, "Of several runs: the counts so far after every ten, as JSON");
  app.add_option("--seed", args.seed, "Seed of the draws")->capture_default_str();
  app.add_flag("--without-revoke", args.without_revoke, "Show how long the others wait if nobody revokes");
  app.add_option("--serve", args.server.id, "Be one of the servers; the program uses this itself")->group("");
  try {
    app.parse(argc, argv);
    if (args.victim == 0) args.victim = args.server.servers / 2 + 1;
    if (args.victim > args.server.servers)
      throw CLI::ValidationError("--victim", fmt::format("there are servers 1 to {}", args.server.servers));
    if (args.kills < 1 || 2 * args.kills >= args.server.servers)
      throw CLI::ValidationError("--kills", "fewer than half of the servers, so that the others can go on");
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? as_expected : bad_usage;
  }
  try {
    args.server.revokes = !args.without_revoke;
    if (args.server.id != 0) return plan_b::serve(args.server);
    return args.runs == 1 ? story(args, args.seed, true).run() : repeat(args);
  } catch (const std::exception& e) {
    fmt::print(stderr, "plan_b_servers: {}\n", e.what());
    return otherwise;
  }
}
