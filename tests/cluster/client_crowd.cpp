#include "client_crowd.hpp"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <new>
#include <stdexcept>
#include <thread>

#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/ship.hpp"
#include "tests/catch.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll::test {
namespace {

using namespace std::chrono_literals;

constexpr remote_function<std::uint64_t, std::uint64_t> next_number{"crowd.next_number"};

node_options options_of(node_role role, std::uint32_t places) {
  node_options o;
  o.role = role;
  if (role == node_role::server) {
    o.id = 1;
  } else {
    o.link.reconnect_grace = 20s;  // so many processes take long to be scheduled
  }
  o.cluster = "crowd";
  o.link.clients = places;
  o.ship.default_deadline = 60s;
  return o;
}

/// The child of a test must not outlive it.
void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
}

task<void> report_for_ever(client_crowd::board& board, node& server) {
  while (true) {
    const auto heap = mallinfo2();
    board.places = server.wire().usage().clients.used;
    board.heap_bytes = heap.uordblks + heap.hblkhd;
    ++board.rounds;
    co_await sleep_for(20ms);
  }
}

task<void> call_as_told(client_crowd::board& board, client_crowd::client& mine, node& client) {
  bool met = false;
  for (std::uint64_t i = 0; board.now != client_crowd::task::leave; ++i) {
    if (met && board.now == client_crowd::task::wait) {
      co_await sleep_for(20ms);
      continue;
    }
    const auto r = co_await ship(client, board.address.data(), next_number, i);
    met = true;
    if (r && *r == i + 1) {
      ++mine.served;
    } else if (!r && r.error() == errc::busy) {
      ++mine.busy;
      co_await sleep_for(50ms);
    } else {
      mine.code = static_cast<std::uint32_t>(r ? errc::malformed : r.error().code());
      ++mine.failed;
    }
  }
}

}  // namespace

client_crowd::client_crowd(std::uint32_t places) {
  void* const shared =
      mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no shared memory");
  board_ = new (shared) board;
  const pid_t parent = getpid();
  server_ = fork();
  if (server_ < 0) throw std::runtime_error("no process for the server");
  if (server_ == 0) {
    end_with_parent(parent);
    serve(places);
  }
  REQUIRE(until([&] { return board_->listening && board_->rounds > 2; }, 30));
}

client_crowd::~client_crowd() {
  for (const int fd : mute_) close(fd);
  clients_.push_back(server_);
  for (const pid_t each : clients_) {
    if (each > 0) kill(each, SIGKILL);
  }
  for (const pid_t each : clients_) {
    if (each > 0) waitpid(each, nullptr, 0);
  }
  munmap(board_, sizeof(board));
}

void client_crowd::serve(std::uint32_t places) {
  const auto loop = transport::reactor::create().value();
  transport::tcp_rail rail(*loop);
  node server(*loop, rail, options_of(node_role::server, places));
  server.serve(next_number, [](const std::uint64_t& n, call_context&) { return n + 1; }).value();
  server.listen("127.0.0.1:0").value();
  std::strncpy(board_->address.data(), server.listen_address().c_str(), board_->address.size() - 1);
  board_->listening = true;
  sync_wait(*loop, report_for_ever(*board_, server));
  _exit(0);
}

void client_crowd::start_clients(std::uint32_t count) {
  const pid_t parent = getpid();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint32_t>(clients_.size());
    const pid_t made = fork();
    if (made < 0) throw std::runtime_error("no process for a client");
    if (made == 0) {
      end_with_parent(parent);
      ask(number);
    }
    clients_.push_back(made);
  }
}

void client_crowd::ask(std::uint32_t i) {
  transport::reactor_options light;
  light.backend = transport::reactor_backend::poll;
  const auto loop = transport::reactor::create(light).value();
  transport::tcp_rail rail(*loop);
  node caller(*loop, rail, options_of(node_role::client, 1));
  sync_wait(*loop, call_as_told(*board_, board_->clients[i], caller));
  sync_wait(*loop, caller.shutdown(5s)).ignore();
  _exit(0);
}

void client_crowd::kill_client(std::uint32_t i) {
  kill(clients_[i], SIGKILL);
  waitpid(std::exchange(clients_[i], -1), nullptr, 0);
}

void client_crowd::connect_mute(std::uint32_t count) {
  const auto to = transport::socket_address::parse(board_->address.data()).value();
  for (std::uint32_t i = 0; i < count; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(connect(fd, to.data(), to.size()) == 0);
    mute_.push_back(fd);
  }
}

std::uint64_t client_crowd::heap_bytes() {
  const std::uint64_t before = board_->rounds;
  REQUIRE(until([&] { return board_->rounds >= before + 3; }, 30));
  return board_->heap_bytes;
}

bool client_crowd::until(const std::function<bool()>& done, int seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return true;
    std::this_thread::sleep_for(5ms);
  }
  return done();
}

}  // namespace scoll::test
