#include "process_cluster.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "obedient.hpp"
#include "tools/common/free_ports.hpp"

namespace scoll::test {
namespace {

/// Ends the test, or the program that uses the cluster outside of one.
void insist(bool holds, std::string_view what) {
  if (!holds) throw std::runtime_error(std::string(what));
}

std::string named(std::uint32_t i) {
  return fmt::format("process {}", i + 1);
}

/// An address for each process, below the ports of outgoing connections: such a port is still free when its
/// process is started again.
std::vector<std::string> lasting_addresses(std::uint32_t count) {
  const auto opens = [](const transport::socket_address& at) {
    return transport::open_listener(at).has_value();
  };
  std::vector<std::string> all;
  for (const std::uint16_t port : kit::find_free_ports(count, opens))
    all.push_back(fmt::format("127.0.0.1:{}", port));
  insist(all.size() == count, "there are too few free ports");
  return all;
}

}  // namespace

process_cluster::process_cluster(std::uint32_t size, nanoseconds patience)
    : members_(size),
      addresses_(patience > nanoseconds(0) ? lasting_addresses(size)
                                           : std::vector<std::string>(size, "127.0.0.1:0")),
      patience_(patience) {
  for (std::uint32_t i = 0; i < size; ++i) start(i);
  for (std::uint32_t i = 0; i < size; ++i) addresses_[i] = next(i, report::kind::ready).address;
  for (std::uint32_t i = 0; i < size; ++i) introduce(i);
}

void process_cluster::start(std::uint32_t i) {
  int ends[2];
  insist(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "there is no socket pair");
  const pid_t pid = fork();
  insist(pid >= 0, "there is no process");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const member& m : members_) {
      if (m.socket >= 0) ::close(m.socket);
    }
    ::close(ends[0]);
    int code = 5;
    try {
      code = obey({ends[1], i + 1, addresses_[i], &board_.get(), patience_});
    } catch (const std::exception& e) {
      std::fprintf(stderr, "process %u: %s\n", i + 1, e.what());
    }
    std::exit(code);  // not _exit, because a leak checker runs at exit
  }
  ::close(ends[1]);
  members_[i] = {pid, ends[0]};
}

void process_cluster::introduce(std::uint32_t i) {
  std::array<char[64], most_processes> all{};
  for (std::size_t k = 0; k < addresses_.size(); ++k) addresses_[k].copy(all[k], sizeof all[k] - 1);
  insist(::send(members_[i].socket, &all, sizeof all, MSG_NOSIGNAL) == sizeof all, "a process is gone");
}

void process_cluster::restart(std::uint32_t i) {
  start(i);
  static_cast<void>(next(i, report::kind::ready));
  introduce(i);
}

process_cluster::~process_cluster() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (running(i)) {
      ::kill(members_[i].pid, SIGKILL);
      reap(i);
    }
  }
}

order process_cluster::for_all(order::kind what) const {
  order o;
  o.what = what;
  o.members = size();
  for (std::uint32_t i = 0; i < size(); ++i) o.member_ids[i] = i + 1;
  return o;
}

order process_cluster::broadcast_to_all(tree_spec tree, deed action) const {
  order o = for_all(order::kind::broadcast);
  o.action = action;
  o.tree = tree;
  return o;
}

order process_cluster::broadcast_to_running(tree_spec tree) const {
  order o;
  o.tree = tree;
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (running(i)) o.member_ids[o.members++] = i + 1;
  }
  return o;
}

void process_cluster::send(std::uint32_t i, const order& o) {
  insist(::send(members_[i].socket, &o, sizeof o, MSG_NOSIGNAL) == sizeof o, named(i) + " is gone");
}

report process_cluster::next(std::uint32_t i, report::kind kind) {
  while (true) {
    report r;
    auto* at = reinterpret_cast<char*>(&r);
    for (std::size_t got = 0; got < sizeof r;) {
      pollfd ready{members_[i].socket, POLLIN, 0};
      if (poll(&ready, 1, 30000) != 1) throw std::runtime_error(named(i) + " says nothing");
      const ssize_t n = ::recv(members_[i].socket, at + got, sizeof r - got, 0);
      if (n <= 0) throw std::runtime_error(named(i) + " is gone");
      got += static_cast<std::size_t>(n);
    }
    if (r.what == kind) return r;
  }
}

void process_cluster::signal(std::uint32_t i, int number) {
  insist(::kill(members_[i].pid, number) == 0, named(i) + " cannot be signalled");
}

void process_cluster::kill(std::uint32_t i) {
  signal(i, SIGKILL);
  reap(i);
}

int process_cluster::reap(std::uint32_t i) {
  int code = 0;
  insist(waitpid(members_[i].pid, &code, 0) == members_[i].pid, named(i) + " is no child");
  ::close(members_[i].socket);
  members_[i] = {};
  return code;
}

void process_cluster::quit(std::uint32_t i) {
  order o;
  o.what = order::kind::quit;
  send(i, o);
  const report r = next(i, report::kind::left);
  insist(r.ok, named(i) + ": " + r.text);
  insist(r.files_left_open == 0, named(i) + " has left files open");
  const int code = reap(i);
  insist(WIFEXITED(code) && WEXITSTATUS(code) == 0, named(i) + " has not exited with 0");
}

void process_cluster::quit_all() {
  for (std::uint32_t i = 0; i < size(); ++i) {
    if (running(i)) quit(i);
  }
  insist(waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD, "a process is left");
}

}  // namespace scoll::test
