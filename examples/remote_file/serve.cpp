#include <fmt/core.h>
#include <poll.h>
#include <sys/signalfd.h>

#include <chrono>
#include <csignal>
#include <cstdio>

#include "programs.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "server.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace remote_file {
namespace {

using namespace std::chrono_literals;

scoll::transport::unique_fd block_signals() {
  sigset_t wanted;
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGTERM);
  sigaddset(&wanted, SIGINT);
  sigprocmask(SIG_BLOCK, &wanted, nullptr);
  return scoll::transport::unique_fd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

scoll::task<scoll::status> until_signal(scoll::transport::reactor& loop, scoll::node& node, int signals) {
  const auto arrived = co_await scoll::transport::async_poll(loop, signals, POLLIN);
  const auto ended = co_await node.shutdown(5s);
  if (!arrived) co_return arrived.error();
  co_return ended;
}

}  // namespace

int serve(const server_arguments& args, const std::function<void(const std::string&)>& listening) {
  const auto signals = block_signals();
  const auto loop = scoll::transport::reactor::create().value();
  scoll::transport::tcp_rail rail(*loop);
  scoll::node_options options;
  options.id = 1;
  options.cluster = "remote_file";
  scoll::node node(*loop, rail, options);
  const server files(node, *loop, args.folder);
  node.listen(args.listen).value();
  const std::string address = "tcp://" + node.listen_address();
  if (listening) {
    listening(address);
  } else {
    fmt::print("serving {} at {}\n", args.folder, address);
    std::fflush(stdout);
  }
  sync_wait(*loop, until_signal(*loop, node, signals.get())).value();
  return 0;
}

}  // namespace remote_file
