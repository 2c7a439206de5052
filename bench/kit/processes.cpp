#include "processes.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>

#include "clock.hpp"
#include "guest.hpp"
#include "sockets.hpp"

namespace bench {
namespace {

constexpr int seconds_to_start = 60;
constexpr int patience_s = 5;

/// Forks a child that gets `signal` when this process dies.
pid_t fork_mortal(int signal) {
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, signal);
    if (getppid() != parent) _exit(3);
  }
  return child;
}

bool has_ended(pid_t child) {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         ended.si_pid != 0;
}

bool ended_within(int seconds, pid_t child) {
  for (int ms = 0; ms < seconds * 1000 && !has_ended(child); ++ms) usleep(1000);
  return has_ended(child);
}

/// Waits for a child that was told to end or is about to; kills it if it does not end.
void end(pid_t child) {
  if (!ended_within(patience_s, child)) kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

[[noreturn]] void live(member& self, const std::function<void(member&)>& body) {
  std::signal(SIGINT, SIG_IGN);
  alarm(longest_life_s);
  try {
    body(self);
  } catch (const std::exception& e) {
    self.give_up(e.what());
  }
  _exit(0);
}

[[noreturn]] void become(const std::vector<std::string>& program) {
  std::vector<char*> arguments;
  arguments.reserve(program.size() + 1);
  for (const std::string& word : program) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  std::fprintf(stderr, "scoll-bench: %s: %s\n", arguments[0], std::generic_category().message(errno).c_str());
  _exit(127);
}

}  // namespace

processes::processes(const std::string& name, std::uint32_t count, const std::function<void(member&)>& body)
    : name_(name), memory_(count) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) fail("socketpair");
  orders_.emplace_back(pair[0]);
  const unique_fd theirs(pair[1]);
  for (std::uint32_t i = 0; i < count; ++i) {
    const pid_t child = fork_mortal(SIGKILL);
    if (child == 0) {
      member self(i, memory_.pages(), memory_.report(), theirs.get());
      prctl(PR_SET_NAME, name.c_str());
      live(self, body);
    }
    children_.push_back(child);
    meters_.emplace_back(child);
  }
  wait_for(seconds_to_start, "get ready", [&] { return all_ready(); });
}

processes::processes(const std::string& name, std::uint32_t count, const std::vector<std::string>& program)
    : name_(name), memory_(count) {
  const std::string invitation = memory_.path();
  const unique_fd listener = listen_for_guests(invitation);
  std::vector<std::string> command = program;
  command.insert(command.begin() + 1, {invitation, std::to_string(count)});
  const pid_t child = fork_mortal(SIGTERM);
  if (child == 0) become(command);
  children_.push_back(child);
  try {
    wait_for(seconds_to_start, "get ready", [&] {
      count_guests();
      return all_ready();
    });
    while (unique_fd obedient = next_guest(listener.get())) orders_.push_back(std::move(obedient));
  } catch (...) {
    let_guests_go();
    throw;
  }
}

processes::~processes() {
  memory_.report().over = true;
  if (!guests_.empty()) {
    let_guests_go();
    return;
  }
  // The first process leaves by itself, and the others wake up when it goes, because some profilers see
  // signals only then.
  no_more_orders();
  for (const pid_t pid : children_) kill(pid, SIGTERM);
  for (const pid_t pid : children_) end(pid);
}

/// Shuts the sockets down, whatever processes have inherited them.
void processes::no_more_orders() noexcept {
  for (const unique_fd& each : orders_) shutdown(each.get(), SHUT_RDWR);
}

/// Starts to count the guests' usage in the order of their indices, in which all lists of processes are.
void processes::count_guests() {
  for (const auto pages = memory_.pages(); meters_.size() < pages.size();) {
    member_page& page = pages[meters_.size()];
    if (page.pid == 0) return;
    meters_.emplace_back(page.pid);
    guests_.emplace_back(static_cast<int>(syscall(SYS_pidfd_open, page.pid.load(), 0)));
    page.counted = 1;
  }
}

bool processes::all_ready() const {
  const auto pages = memory_.pages();
  return std::all_of(pages.begin(), pages.end(), [](const member_page& p) { return p.ready != 0; });
}

/// Without orders the guests end by themselves, and then their program, which cleans up after them unless it
/// cannot any more.
void processes::let_guests_go() noexcept {
  no_more_orders();
  if (!ended_within(patience_s, children_[0])) kill(children_[0], SIGTERM);
  end(children_[0]);
  for (const unique_fd& guest : guests_) syscall(SYS_pidfd_send_signal, guest.get(), SIGKILL, nullptr, 0);
  for (const unique_fd& guest : guests_) {
    pollfd until_gone{guest.get(), POLLIN, 0};
    poll(&until_gone, 1, patience_s * 1000);
  }
}

void processes::blame(const char* what) const {
  throw std::runtime_error("the processes of " + name_ + ' ' + what);
}

void processes::check_alive() const {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (has_ended(children_[i]) && !memory_.pages()[i].may_end) blame("have ended, one of them at least");
  }
}

template <class Condition>
void processes::wait_for(int seconds, const char* what, Condition done) {
  const std::int64_t until = now_ns() + std::int64_t{seconds} * 1'000'000'000;
  while (!done()) {
    check_alive();
    if (now_ns() > until) blame((std::string("did not ") + what).c_str());
    usleep(1000);
  }
}

answer processes::obey(const order& o) {
  constexpr std::int64_t longest_ns = 120'000'000'000;
  for (const unique_fd& each : orders_) {
    if (send(each.get(), &o, sizeof o, MSG_NOSIGNAL) != sizeof o) blame("take no orders");
  }
  const std::int64_t until = now_ns() + longest_ns;
  for (const unique_fd& each : orders_) await_answer(each.get(), until);
  const report_page& report = memory_.report();
  const std::uint32_t count = report.count;
  return {{report.latency_ns, count}, {report.last_reached_ns, count}};
}

void processes::await_answer(int from, std::int64_t until_ns) const {
  constexpr int look_ms = 500;
  pollfd waiting{from, POLLIN, 0};
  while (poll(&waiting, 1, look_ms) != 1) {
    check_alive();
    if (now_ns() > until_ns) blame("did not finish in two minutes");
  }
  char finished = 0;
  if (recv(from, &finished, 1, 0) != 1) blame("have ended, one of them at least");
}

std::vector<usage> processes::used() const {
  std::vector<usage> all;
  all.reserve(meters_.size());
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    const member_page& page = memory_.pages()[i];
    usage u = meters_[i].read();
    u.syscalls = static_cast<double>(page.syscalls.load());
    u.allocations = static_cast<double>(page.allocations.load());
    u.messages = static_cast<double>(page.messages.load());
    u.background_bytes = static_cast<double>(page.background_bytes.load());
    all.push_back(u);
  }
  return all;
}

}  // namespace bench
