#include "children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>

namespace plan_b {
namespace {

void check(int code, const char* what) {
  if (code != 0) throw std::system_error(code, std::generic_category(), what);
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) check(errno, "pipe2");
  return ends;
}

}  // namespace

children::~children() {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    kill(i);
    close(all_[i].in);
    if (all_[i].out >= 0) close(all_[i].out);
  }
}

void children::start(const std::vector<std::string>& arguments) {
  signal(SIGPIPE, SIG_IGN);
  const auto in = make_pipe();
  const auto out = make_pipe();
  posix_spawn_file_actions_t actions;
  check(posix_spawn_file_actions_init(&actions), "posix_spawn_file_actions_init");
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  std::vector<std::string> words{"plan_b_servers"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  child started;
  const int failed = posix_spawn(&started.pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  started.in = in[1];
  started.out = out[0];
  all_.push_back(std::move(started));
  check(failed, "posix_spawn");
}

void children::write_to_all(std::string_view text) {
  for (const child& c : all_) {
    std::string_view left = text;
    while (!left.empty()) {
      const ssize_t written = ::write(c.in, left.data(), left.size());
      if (written <= 0) break;  // it has ended, which its output will show
      left.remove_prefix(static_cast<std::size_t>(written));
    }
  }
}

void children::kill(std::size_t which) {
  child& c = all_[which];
  if (c.reaped || c.pid <= 0) return;
  ::kill(c.pid, SIGKILL);
  c.reaped = waitpid(c.pid, &c.status, 0) == c.pid;
}

bool children::ended_well(std::size_t which) {
  child& c = all_[which];
  if (!c.reaped && c.pid > 0) c.reaped = waitpid(c.pid, &c.status, 0) == c.pid;
  return c.reaped && WIFEXITED(c.status) && WEXITSTATUS(c.status) == 0;
}

/// Takes what one process has written.
void children::take(std::size_t which, const std::function<void(std::size_t, std::string_view)>& on_line) {
  child& c = all_[which];
  std::array<char, 4096> room{};
  const ssize_t size = ::read(c.out, room.data(), room.size());
  if (size <= 0) {
    close(c.out);
    c.out = -1;
    return;
  }
  c.begun.append(room.data(), static_cast<std::size_t>(size));
  std::size_t from = 0;
  for (std::size_t end = c.begun.find('\n'); end != std::string::npos; end = c.begun.find('\n', from)) {
    on_line(which, std::string_view(c.begun).substr(from, end - from));
    from = end + 1;
  }
  c.begun.erase(0, from);
}

bool children::read(double limit_s, const std::function<bool()>& done,
                    const std::function<void(std::size_t, std::string_view)>& on_line) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  while (!done()) {
    std::vector<pollfd> open;
    std::vector<std::size_t> whose;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].out < 0) continue;
      open.push_back({all_[i].out, POLLIN, 0});
      whose.push_back(i);
    }
    if (open.empty()) return done();
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(open.data(), open.size(), static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) < 0 &&
        errno != EINTR)
      check(errno, "poll");
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].revents != 0) take(whose[i], on_line);
    }
  }
  return true;
}

}  // namespace plan_b
