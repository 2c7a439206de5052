#include "processes.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "clock.hpp"

namespace bench {
namespace {

constexpr unsigned longest_life_s = 1800;

void* share(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "shared memory");
  return at;
}

[[noreturn]] void live(member& self, pid_t parent, const std::function<void(member&)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(3);
  std::signal(SIGINT, SIG_IGN);
  alarm(longest_life_s);
  try {
    body(self);
  } catch (const std::exception& e) {
    self.give_up(e.what());
  }
  _exit(0);
}

}  // namespace

processes::processes(const std::string& name, std::uint32_t count, const std::function<void(member&)>& body) {
  pages_ = new (share(count * sizeof(member_page))) member_page[count];
  report_ = new (share(sizeof(report_page))) report_page;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  orders_ = pair[0];
  std::fflush(nullptr);
  const pid_t parent = getpid();
  for (std::uint32_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (child == 0) {
      member self(i, {pages_, count}, *report_, pair[1]);
      prctl(PR_SET_NAME, name.c_str());
      live(self, parent, body);
    }
    pids_.push_back(child);
  }
  close(pair[1]);
  meters_.reserve(count);
  for (const pid_t pid : pids_) meters_.emplace_back(pid);
  wait_for(30, "get ready", [&] {
    return std::all_of(pages_, pages_ + count, [](const member_page& p) { return p.ready != 0; });
  });
}

processes::~processes() {
  report_->over = true;
  for (const pid_t pid : pids_) kill(pid, SIGKILL);
  for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  if (orders_ >= 0) close(orders_);
  munmap(report_, sizeof(report_page));
  munmap(pages_, pids_.size() * sizeof(member_page));
}

void processes::check_alive() const {
  for (const pid_t pid : pids_) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid != 0)
      throw std::runtime_error("a measured process has ended");
  }
}

template <class Condition>
void processes::wait_for(int seconds, const char* what, Condition done) {
  const std::int64_t until = now_ns() + std::int64_t{seconds} * 1'000'000'000;
  while (!done()) {
    check_alive();
    if (now_ns() > until) throw std::runtime_error(std::string("the measured processes did not ") + what);
    usleep(1000);
  }
}

answer processes::obey(const order& o) {
  constexpr int look_ms = 500;
  constexpr int looks = 240;
  if (send(orders_, &o, sizeof o, MSG_NOSIGNAL) != sizeof o)
    throw std::system_error(errno, std::generic_category(), "giving an order");
  pollfd waiting{orders_, POLLIN, 0};
  for (int i = 0; poll(&waiting, 1, look_ms) != 1; ++i) {
    check_alive();
    if (i == looks) throw std::runtime_error("the measured processes did not finish in two minutes");
  }
  char finished = 0;
  if (recv(orders_, &finished, 1, 0) != 1) throw std::runtime_error("the first measured process has ended");
  const std::uint32_t count = report_->count;
  return {{report_->latency_ns, count}, {report_->last_reached_ns, count}};
}

std::vector<usage> processes::used() const {
  std::vector<usage> all;
  all.reserve(meters_.size());
  for (std::size_t i = 0; i < meters_.size(); ++i) {
    usage u = meters_[i].read();
    u.syscalls = static_cast<double>(pages_[i].syscalls.load());
    u.allocations = static_cast<double>(pages_[i].allocations.load());
    u.messages = static_cast<double>(pages_[i].messages.load());
    all.push_back(u);
  }
  return all;
}

}  // namespace bench
