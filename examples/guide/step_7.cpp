// Step 7 of docs/guide.md: a server that shuts down in good order on SIGTERM and SIGINT.
#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>

#include <csignal>

#include "scoll/coro/error_format.hpp"
#include "server.hpp"
#include "transport/io/io_awaitables.hpp"

namespace {

// [signals]
/// Turns SIGTERM and SIGINT into readable events. Call it before any thread starts, because threads inherit
/// the mask.
scoll::transport::unique_fd block_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  return scoll::transport::unique_fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

scoll::task<scoll::status> serve_until_signal(scoll::transport::reactor& loop, guide::server& server,
                                              int signals) {
  const auto arrived = co_await scoll::transport::async_poll(loop, signals, POLLIN);
  const auto ended = co_await server.stop();
  if (!arrived) co_return arrived.error();
  co_return ended;
}
// [signals]

}  // namespace

// [main]
int main() {
  const auto signals = block_signals();
  const auto loop = scoll::transport::reactor::create().value();
  guide::server server(*loop, {.id = 1, .cluster = "guide"}, "127.0.8.1:0");
  server.join({server.where()});

  ::kill(::getpid(), SIGTERM);  // as an administrator would; leave this line out of your program
  const auto ended = sync_wait(*loop, serve_until_signal(*loop, server, signals.get()));
  if (!ended) fmt::print(stderr, "stopped, but: {}\n", describe(ended.error()));
  return ended ? 0 : 1;
}
// [main]
