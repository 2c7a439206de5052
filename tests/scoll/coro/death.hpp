#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

/// The end of a child process that ran a function: its status, and its output on stderr.
struct death {
  bool aborted = false;
  std::string message;
};

/// Runs `f` in a fork. The child must not touch threads of its parent.
template <class F>
death die(const F& f) {
  int pipe_fds[2];
  if (::pipe(pipe_fds) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::dup2(pipe_fds[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);
    f();
    ::_exit(0);
  }
  ::close(pipe_fds[1]);
  death result;
  char part[256];
  for (ssize_t n = 0; (n = ::read(pipe_fds[0], part, sizeof part)) > 0;) {
    result.message.append(part, static_cast<std::size_t>(n));
  }
  ::close(pipe_fds[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  result.aborted = WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
  return result;
}
