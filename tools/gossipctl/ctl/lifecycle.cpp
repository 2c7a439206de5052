#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>

#include "choose.hpp"
#include "run.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/incarnation_store.hpp"
#include "scoll/settings.hpp"
#include "tools/common/await_address.hpp"
#include "tools/common/folder_lock.hpp"
#include "tools/common/rdma_devices.hpp"
#include "tools/gossipctl/daemon/daemon.hpp"

namespace gossipctl {
namespace {

namespace fs = std::filesystem;
using scoll::transport::control_client;
using steady = std::chrono::steady_clock;

scoll::transport::unique_fd block_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&wanted, each);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return scoll::transport::unique_fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

struct chosen_options {
  scoll::transport::reactor_options reactor;
  scoll::transport::verbs_options verbs;
};

/// Suggests small limits, because a daemon does little at once. SCOLL_CONFIG's file and the environment may
/// override them.
chosen_options read_settings() {
  constexpr std::pair<std::string_view, std::string_view> suggestions[] = {
      {"reactor.submission_entries", "64"},
      {"reactor.completion_entries", "256"},
      {"reactor.receive_buffers", "2"},
      {"reactor.receive_buffer_limit", "2"},
  };
  scoll::settings chosen;
  bool taken = true;
  for (const auto& [name, value] : suggestions) taken = taken && chosen.suggest(name, value);
  if (!taken || !chosen.load()) throw usage_error(chosen.complaint());
  return {chosen.reactor(), chosen.verbs()};
}

int fail(spdlog::logger& log, const scoll::error& e) {
  log.error("{}", describe(e));
  return failed;
}

scoll::transport::key_ring read_ring(const config& c) {
  if (c.key_file.empty()) return {};
  auto ring = scoll::transport::key_ring::read(c.key_file);
  if (!ring) throw usage_error(fmt::format("{}: {}", c.key_file.string(), describe(ring.error())));
  return std::move(*ring);
}

/// Takes over the control socket and the addresses. The caller must hold the lock of this folder.
void take_over(const place& here, std::span<const std::string> addresses) {
  ::unlink(here.control().c_str());
  for (const std::string& address : addresses) {
    const auto wanted = scoll::transport::socket_address::parse(scoll::transport::split_name(address).place);
    if (wanted) scoll::kit::await_address([&] { return scoll::transport::open_datagram(*wanted); });
  }
}

void make_private(const fs::path& folder) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  fs::permissions(folder, fs::perms::owner_all, failure);
  if (failure) throw usage_error(fmt::format("{}: {}", folder.string(), failure.message()));
}

// ---- start

struct started {
  participant_index who;
  pid_t process = 0;
  fs::path log;
  bool answers = false;
  bool ended = false;
};

std::vector<std::string> run_arguments(const arguments& args, const config& c, const started& s) {
  std::vector<std::string> words{
      "gossipctl", "--config", fs::absolute(args.config), "--self", c.shared->address(s.who), "run"};
  if (args.inject_loss != 0) {
    words.insert(words.end(), {"--inject-loss", fmt::format("{}", args.inject_loss), "--inject-seed",
                               fmt::format("{}", args.inject_seed + s.who)});
  }
  return words;
}

/// Starts a process in its own session, whose output goes to its log.
void spawn(const arguments& args, const config& c, started& s) {
  const auto words = run_arguments(args, c, s);
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, s.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t how;
  posix_spawnattr_init(&how);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
  const int wrong = ::posix_spawn(&s.process, "/proc/self/exe", &files, &how, pointers.data(), environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  if (wrong != 0) throw usage_error(fmt::format("no process could be started: {}", std::strerror(wrong)));
}

bool answers(const config& c, participant_index who) {
  auto daemon = control_client::connect(place(c, who).control());
  return daemon && ask(*daemon, {{"command", "status"}}, 5).has_value();
}

std::string last_lines(const fs::path& log) {
  std::ifstream in(log);
  std::string line;
  std::string last;
  while (std::getline(in, line)) last = line;
  return last;
}

bool settled(const config& c, started& s) {
  if (s.answers || s.ended) return true;
  s.answers = answers(c, s.who);
  s.ended = !s.answers && s.process != 0 && ::waitpid(s.process, nullptr, WNOHANG) == s.process;
  return s.answers || s.ended;
}

void wait_for(const config& c, std::vector<started>& all, double seconds) {
  const auto end = steady::now() + std::chrono::duration<double>(seconds);
  for (bool waiting = true; waiting && steady::now() < end;) {
    waiting = false;
    for (started& s : all) waiting |= !settled(c, s);
    if (waiting) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

int report(const arguments& args, const config& c, const std::vector<started>& all) {
  int code = all_well;
  json list = json::array();
  for (const started& s : all) {
    const std::string& address = c.shared->address(s.who);
    list.push_back({{"address", address}, {"running", s.answers}, {"started", s.answers && s.process != 0}});
    if (!s.answers) code = all.size() == 1 ? failed : not_all_alive;
    if (!s.answers) {
      fmt::print(stderr, "{}: {}: {}\n", address, s.ended ? "it ended" : "no answer yet", last_lines(s.log));
    } else if (!args.as_json) {
      fmt::print("{}: {}\n", address, s.process != 0 ? "started" : "runs already");
    }
  }
  if (args.as_json) fmt::print("{}\n", list.dump());
  return code;
}

std::vector<participant_index> one_or_all(const config& c, const arguments& args) {
  if (args.all) return own_participants(c, args);
  return {own_participant(c, args)};
}

}  // namespace

int run_daemon(const arguments& args) {
  const config c = need_config(args);
  const chosen_options options = read_settings();
  const participant_index self = own_participant(c, args);
  auto ring = read_ring(c);
  const place here(c, self);
  make_private(here.folder);
  const auto log = open_log(args.log, c.log_level);
  const auto signals = block_signals();
  const auto lock = scoll::kit::lock_folder(here.folder);
  if (!lock) return fail(*log, lock.error());
  take_over(here, c.shared->addresses(self));
  auto loop = scoll::transport::reactor::create(options.reactor);
  if (!loop) return fail(*log, loop.error());
  scoll::incarnation_store store(**loop, here.folder);
  const auto incarnation = scoll::sync_wait(**loop, store.next(scoll::wall_clock_ns()));
  if (!incarnation) return fail(*log, incarnation.error());

  auto devices =
      scoll::kit::devices_if(std::ranges::any_of(c.shared->addresses(self), scoll::kit::is_rdma), **loop);
  if (!devices) return fail(*log, devices.error());
  daemon_options chosen;
  chosen.rdma = {devices->get(), options.verbs};
  chosen.inject_loss = args.inject_loss;
  chosen.inject_seed = args.inject_seed;
  log->info("{} of {} participants, life {}, {}{}", c.shared->address(self), c.shared->size(), *incarnation,
            ring.empty() ? "not sealed" : "sealed",
            args.inject_loss > 0 ? fmt::format(", dropping {} of what it sends", args.inject_loss) : "");
  daemon server(**loop, c, self, *incarnation, std::move(ring), chosen, log);
  const auto ended = scoll::sync_wait(**loop, server.run(signals.get()));
  if (!ended) return fail(*log, ended.error());
  log->info("stopped");
  return all_well;
}

int start(const arguments& args) {
  const config c = need_config(args);
  static_cast<void>(read_ring(c));
  std::vector<started> all;
  for (const participant_index who : one_or_all(c, args)) {
    started s{who, 0, place(c, who).log()};
    s.answers = answers(c, who);
    if (!s.answers) {
      make_private(place(c, who).folder);
      spawn(args, c, s);
    }
    all.push_back(std::move(s));
  }
  wait_for(c, all, args.wait_s);
  return report(args, c, all);
}

int stop(const arguments& args) {
  const config c = need_config(args);
  struct stopping {
    participant_index who;
    control_client daemon;
  };
  std::vector<stopping> asked;
  std::vector<std::string> absent;
  for (const participant_index who : one_or_all(c, args)) {
    auto daemon = control_client::connect(place(c, who).control());
    if (daemon && daemon->send_line(R"({"command": "stop"})")) {
      asked.push_back({who, std::move(*daemon)});
    } else {
      absent.push_back(c.shared->address(who));
    }
  }
  std::vector<std::string> stopped;
  std::vector<std::string> stuck;
  const auto limit = std::chrono::milliseconds(static_cast<std::int64_t>(args.wait_s * 1000));
  for (auto& [who, daemon] : asked)
    (daemon.wait_for_end(limit) ? stopped : stuck).push_back(c.shared->address(who));
  if (args.as_json) {
    json j;
    j["stopped"] = stopped;
    j["not_running"] = absent;
    j["stuck"] = stuck;
    fmt::print("{}\n", j.dump());
  } else {
    for (const auto& each : stopped) fmt::print("{}: stopped\n", each);
    for (const auto& each : absent) fmt::print(stderr, "{}: not running\n", each);
    for (const auto& each : stuck) fmt::print(stderr, "{}: still running\n", each);
  }
  if (asked.empty()) return no_daemon;
  if (!stuck.empty()) return failed;
  return absent.empty() || args.all ? all_well : not_all_alive;
}

}  // namespace gossipctl
