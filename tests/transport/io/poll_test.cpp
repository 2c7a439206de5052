#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "any_files.hpp"
#include "on_reactor.hpp"
#include "seccomp.hpp"
#include "socket_pair.hpp"
#include "transport/io/socket.hpp"

// Tests of the poll backend's own features: waits that share a registration, edges, descriptors whose numbers
// are reused, and threads for files. The cases tagged [reactor] test the features of every backend.

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::transport;
using files_for_tests::scratch;
using on_reactor::recorder;
using on_reactor::settle;
using on_reactor::turn_until;

namespace {

using results = std::vector<std::int32_t>;

std::unique_ptr<reactor> make_poll(reactor_options options = {}) {
  options.backend = reactor_backend::poll;
  return on_reactor::make(options);
}

using ends = socket_ends;

ends pipe_pair() {
  int made[2];
  REQUIRE(::pipe2(made, O_CLOEXEC) == 0);
  return {unique_fd(made[1]), unique_fd(made[0])};
}

/// Writes until the socket takes no more.
std::size_t fill(int fd) {
  const std::vector<std::byte> much(65536);
  std::size_t sum = 0;
  for (ssize_t n = 0; (n = ::send(fd, much.data(), much.size(), MSG_DONTWAIT)) > 0;)
    sum += static_cast<std::size_t>(n);
  REQUIRE(errno == EAGAIN);
  return sum;
}

void write_to(int fd, std::string_view text) {
  REQUIRE(::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

/// Keeps the buffers that it receives.
class hoarder final : public io_completion {
 public:
  hoarder() noexcept : io_completion(&note) {}
  ~hoarder() = default;
  std::deque<buffer_ref> held;
  std::size_t bytes = 0;
  std::int32_t last = 1;

 private:
  static void note(io_completion& done, const event& e) noexcept {
    auto& self = static_cast<hoarder&>(done);
    self.last = e.result;
    if (e.result <= 0) return;
    self.bytes += static_cast<std::size_t>(e.result);
    self.held.push_back(std::move(*e.buffer));
  }
};

/// A listener that answers no connection, because its queue is full.
struct full_listener {
  full_listener() {
    fd = open_listener(socket_address::parse("127.0.0.1:0").value(), 0).value();
    address = local_address(fd.get()).value();
    for (int i = 0; i < 4; ++i) {
      waiting.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      REQUIRE((::connect(waiting.back().get(), address.data(), address.size()) == 0 || errno == EINPROGRESS));
    }
  }
  unique_fd fd;
  socket_address address;
  std::vector<unique_fd> waiting;
};

}  // namespace

TEST_CASE("with poll every operation that waits can be cancelled, and none completes inline") {
  const auto r = make_poll();
  const ends stream = socket_pair(), full = socket_pair(), datagrams = socket_pair(SOCK_DGRAM),
             pipe = pipe_pair(), full_pipe = pipe_pair();
  fill(full.near.get());
  REQUIRE(::fcntl(full_pipe.near.get(), F_SETFL, O_NONBLOCK) == 0);
  const std::vector<std::byte> much(1 << 20);
  while (::write(full_pipe.near.get(), much.data(), much.size()) > 0) continue;
  REQUIRE(::fcntl(full_pipe.near.get(), F_SETFL, 0) == 0);
  const full_listener deaf;
  const auto listener = open_listener(socket_address::parse("127.0.0.1:0").value()).value();
  const auto buffers = r->make_datagram_buffers(4, 1000).value();
  const unique_fd connecting = open_stream(AF_INET).value();
  std::array<std::byte, 64> room;
  iovec piece{const_cast<std::byte*>(much.data()), much.size()};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;

  std::deque<recorder> all(10);
  r->accept_multishot(listener.get(), all[0]);
  r->connect(connecting.get(), deaf.address.data(), deaf.address.size(), all[1]);
  r->receive_multishot(stream.far.get(), all[2]);
  r->receive(stream.far.get(), room, all[3]);
  r->receive_datagrams(datagrams.far.get(), *buffers, all[4]);
  r->send(full.near.get(), much, all[5]);
  r->send_message(full.near.get(), message, all[6]);
  r->poll(stream.far.get(), POLLIN, all[7]);
  r->read(pipe.far.get(), room, 0, all[8]);
  r->write(full_pipe.near.get(), much, 0, all[9]);
  const bool begun = GENERATE(true, false);
  if (begun) {
    settle(*r);
    for (const recorder& one : all) CHECK(one.results.empty());
  }
  for (recorder& one : all) {
    r->cancel(one);
    r->cancel(one);
    CHECK(one.results.empty());
  }
  turn_until(*r, [&] { return std::all_of(all.begin(), all.end(), [](auto& one) { return one.ended; }); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO("operation " << i);
    CHECK(all[i].results == results{-ECANCELED});
    r->cancel(all[i]);
  }
  settle(*r);
  // The cancelled waits have left nothing behind: the same descriptors work again.
  all[2].ended = all[3].ended = false;
  r->receive(stream.far.get(), room, all[3]);
  settle(*r);
  write_to(stream.near.get(), "abc");
  turn_until(*r, [&] { return all[3].ended; });
  CHECK(all[3].results.back() == 3);
}

TEST_CASE("with poll a send that was begun leaves although it is cancelled, unless it would wait") {
  const auto r = make_poll();
  const ends pair = socket_pair();
  const std::array<std::byte, 10> bytes{};
  recorder first, second;
  r->send(pair.near.get(), bytes, first);
  r->cancel(first);
  turn_until(*r, [&] { return first.ended; });
  CHECK(first.results == results{10});
  CHECK(drain(pair.far.get()) == 10);
  fill(pair.near.get());
  r->send(pair.near.get(), bytes, second);
  r->cancel(second);
  turn_until(*r, [&] { return second.ended; });
  CHECK(second.results == results{-ECANCELED});
}

TEST_CASE("with poll the operations of one descriptor wait beside each other") {
  const auto r = make_poll();
  const ends pair = socket_pair();
  const std::size_t filled = fill(pair.near.get());
  const std::array<std::byte, 10> bytes{};
  recorder received, sent, readable, writable;
  r->receive_multishot(pair.near.get(), received);
  r->send(pair.near.get(), bytes, sent);
  r->poll(pair.near.get(), POLLIN, readable);
  r->poll(pair.near.get(), POLLOUT, writable);
  settle(*r);
  CHECK((received.results.empty() && sent.results.empty() && readable.results.empty() &&
         writable.results.empty()));

  write_to(pair.far.get(), "hello");
  turn_until(*r, [&] { return readable.ended && !received.results.empty(); });
  settle(*r);
  CHECK(received.results == results{5});
  CHECK((readable.results.front() & POLLIN) != 0);
  CHECK((sent.results.empty() && writable.results.empty()));

  CHECK(drain(pair.far.get()) == filled);
  turn_until(*r, [&] { return sent.ended && writable.ended; });
  CHECK(sent.results == results{10});
  CHECK((writable.results.front() & POLLOUT) != 0);
  CHECK(received.pending());

  // Events that are already pending count for later waits.
  write_to(pair.far.get(), "x");
  turn_until(*r, [&] { return received.results.size() == 2; });
  recorder late;
  r->poll(pair.near.get(), POLLIN | POLLOUT, late);
  turn_until(*r, [&] { return late.ended; });
  CHECK(late.results == results{POLLOUT});
  r->cancel(received);
  turn_until(*r, [&] { return received.ended; });
}

TEST_CASE("with poll what is closed while operations are pending ends them, and the number is free") {
  const auto r = make_poll({.receive_buffers = 2, .receive_buffer_bytes = 256, .receive_buffer_limit = 2});
  ends pair = socket_pair();
  recorder received, readable, closed;
  hoarder paused;
  const bool starved = GENERATE(false, true);
  if (starved) {
    r->receive_multishot(pair.far.get(), paused);
    write_to(pair.near.get(), std::string(2000, 'x'));
    turn_until(*r, [&] { return paused.held.size() == 2; });
  } else {
    r->receive_multishot(pair.far.get(), received);
  }
  r->poll(pair.far.get(), POLLPRI, readable);
  settle(*r);
  const int number = pair.far.get();
  r->close_socket(pair.far.release(), closed);
  CHECK(closed.results.empty());
  turn_until(*r, [&] { return closed.ended && readable.ended && !received.pending() && !paused.pending(); });
  CHECK(closed.results == results{0});
  CHECK(readable.results == results{-ECANCELED});
  if (!starved) CHECK(received.results == results{-ECANCELED});
  if (starved) CHECK(paused.last == -ECANCELED);

  const ends next = socket_pair();
  REQUIRE((next.near.get() == number || next.far.get() == number));
  const int peer = next.near.get() == number ? next.far.get() : next.near.get();
  std::array<std::byte, 8> room;
  recorder again;
  r->receive(number, room, again);
  settle(*r);
  CHECK(again.results.empty());
  write_to(peer, "abc");
  turn_until(*r, [&] { return again.ended; });
  CHECK(again.results == results{3});
}

TEST_CASE("with poll a descriptor that was closed elsewhere may come back as another") {
  const auto r = make_poll();
  std::array<std::byte, 8> room;
  int number = -1;
  unique_fd duplicate;  // keeps epoll's registration of the first one
  for (int i = 0; i < 5; ++i) {
    ends pair = socket_pair();
    if (number < 0) number = pair.far.get();
    REQUIRE(pair.far.get() == number);
    recorder received;
    r->receive(pair.far.get(), room, received);
    settle(*r);
    CHECK(received.results.empty());
    write_to(pair.near.get(), "ab");
    turn_until(*r, [&] { return received.ended; });
    CHECK(received.results == results{2});
    if (!duplicate) duplicate = unique_fd(::fcntl(pair.far.get(), F_DUPFD_CLOEXEC, 500));
  }
}

TEST_CASE("with poll the end of a stream is seen, whenever it comes") {
  const auto r = make_poll({.receive_buffers = 2, .receive_buffer_bytes = 256, .receive_buffer_limit = 2});
  ends pair = socket_pair();
  hoarder h;
  r->receive_multishot(pair.far.get(), h);
  SECTION("together with the last bytes") {
    settle(*r);
    write_to(pair.near.get(), "abc");
    pair.near.reset();
  }
  SECTION("after them") {
    write_to(pair.near.get(), "abc");
    turn_until(*r, [&] { return h.bytes == 3; });
    h.held.clear();
    settle(*r);
    pair.near.reset();
  }
  SECTION("while there is no buffer") {
    write_to(pair.near.get(), std::string(512, 'x'));
    turn_until(*r, [&] { return h.held.size() == 2; });
    write_to(pair.near.get(), "abc");
    settle(*r);
    pair.near.reset();
    settle(*r);
    CHECK(h.pending());
    h.held.clear();
    turn_until(*r, [&] { return !h.pending(); });
    CHECK(h.bytes == 515);
  }
  turn_until(*r, [&] { return !h.pending(); });
  CHECK(h.last == 0);
}

TEST_CASE("with poll one busy stream leaves others their turn") {
  const auto r = make_poll({.receive_buffer_bytes = 256});
  const ends busy = socket_pair(), other = socket_pair();
  recorder much, little;
  r->receive_multishot(busy.far.get(), much);
  r->receive_multishot(other.far.get(), little);
  settle(*r);
  const std::size_t filled = fill(busy.near.get());
  write_to(other.near.get(), "x");
  turn_until(*r, [&] { return !little.results.empty(); });
  CHECK(much.results.size() * 256 < filled);
  std::size_t received = 0;
  turn_until(*r, [&] {
    received = 0;
    for (const auto n : much.results) received += static_cast<std::size_t>(n);
    return received == filled;
  });
  for (recorder* one : {&much, &little}) r->cancel(*one);
  turn_until(*r, [&] { return much.ended && little.ended; });
}

TEST_CASE("with poll a message costs a wait and a receive, and nothing to arm") {
  const auto r = make_poll();
  const ends pair = socket_pair();
  recorder received;
  r->receive_multishot(pair.far.get(), received);
  settle(*r);
  const auto before = r->statistics().enters;
  for (std::size_t i = 1; i <= 100; ++i) {
    write_to(pair.near.get(), "message");
    while (received.results.size() < i) r->run_once(1s);
  }
  CHECK(r->statistics().enters - before == 200);
  r->cancel(received);
  turn_until(*r, [&] { return received.ended; });
}

TEST_CASE("with poll a round trip is a send, a wait and a receive") {
  const auto r = make_poll();
  const ends pair = socket_pair();
  const std::array<std::byte, 7> question{};
  recorder received, sent;
  r->receive_multishot(pair.near.get(), received);
  settle(*r);
  const auto before = r->statistics().enters;
  for (std::size_t i = 1; i <= 100; ++i) {
    r->send(pair.near.get(), question, sent);
    while (sent.results.size() < i) r->run_once(1s);
    write_to(pair.far.get(), "answer");
    while (received.results.size() < i) r->run_once(1s);
  }
  CHECK(r->statistics().enters - before == 300);
  r->cancel(received);
  turn_until(*r, [&] { return received.ended; });
}

TEST_CASE("with poll a burst of datagrams is received by few calls") {
  const auto r = make_poll();
  const ends pair = socket_pair(SOCK_DGRAM);
  const auto buffers = r->make_datagram_buffers(16, 100).value();
  recorder received;
  r->receive_datagrams(pair.far.get(), *buffers, received);
  settle(*r);
  for (int i = 0; i < 8; ++i) write_to(pair.near.get(), "datagram");
  const auto before = r->statistics().enters;
  while (received.results.size() < 8) r->run_once(1s);
  CHECK(r->statistics().enters - before == 2);
  r->cancel(received);
  turn_until(*r, [&] { return received.ended; });
}

TEST_CASE("with poll nobody hears of room that nobody waits for") {
  const auto r = make_poll();
  const auto any = socket_address::parse("127.0.0.1:0").value();
  const unique_fd from = open_datagram(any).value(), to = open_datagram(any).value();
  const auto target = local_address(to.get()).value();
  const auto buffers = r->make_datagram_buffers(4, 100).value();
  recorder received, writable;
  r->receive_datagrams(from.get(), *buffers, received);
  r->poll(from.get(), POLLOUT, writable);  // from now on every datagram that has left is an event
  turn_until(*r, [&] { return writable.ended; });
  const auto send = [&] { REQUIRE(::sendto(from.get(), "x", 1, 0, target.data(), target.size()) == 1); };
  send();
  settle(*r);  // one is one too many
  const int descriptor = r->pollable_fd();
  for (int i = 0; i < 10; ++i) send();
  pollfd host{descriptor, POLLIN, 0};
  CHECK(::poll(&host, 1, 0) == 0);
  r->cancel(received);
  turn_until(*r, [&] { return received.ended; });
}

TEST_CASE("with poll thousands of descriptors are served") {
  rlimit limit{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const std::size_t count = std::min<std::size_t>(limit.rlim_cur, 4200) / 2 - 50;
  const auto r = make_poll({.receive_buffer_bytes = 256, .receive_buffer_limit = 64});
  std::vector<ends> pairs;
  std::deque<recorder> received(count);
  for (std::size_t i = 0; i < count; ++i) {
    pairs.push_back(socket_pair());
    r->receive_multishot(pairs[i].far.get(), received[i]);
  }
  settle(*r);
  for (int round = 1; round <= 2; ++round) {
    for (const ends& pair : pairs) write_to(pair.near.get(), "abc");
    turn_until(*r, [&] {
      return std::all_of(received.begin(), received.end(), [&](const recorder& one) {
        return one.results.size() == static_cast<std::size_t>(round);
      });
    });
  }
  for (ends& pair : pairs) pair.near.reset();
  turn_until(
      *r, [&] { return std::all_of(received.begin(), received.end(), [](auto& one) { return one.ended; }); });
  for (const recorder& one : received) {
    if (one.results != results{3, 3, 0}) FAIL_CHECK("a completion is wrong");
  }
}

TEST_CASE("with poll a connect leaves the socket as it was") {
  const auto r = make_poll();
  const auto listener = open_listener(socket_address::parse("127.0.0.1:0").value()).value();
  const auto address = local_address(listener.get()).value();
  const unique_fd fd = open_stream(AF_INET).value();
  const int flags = ::fcntl(fd.get(), F_GETFL);
  recorder connected;
  r->connect(fd.get(), address.data(), address.size(), connected);
  CHECK(connected.results.empty());
  turn_until(*r, [&] { return connected.ended; });
  CHECK(connected.results == results{0});
  CHECK(::fcntl(fd.get(), F_GETFL) == flags);
  CHECK(peer_address(fd.get()).value() == address);
}

TEST_CASE("with poll more files than threads are worked on, and slow ones hold up their threads alone") {
  const scratch directory;
  const std::string slow = directory.path() + "/pipe";
  REQUIRE(::mkfifo(slow.c_str(), 0600) == 0);
  const auto r = make_poll();
  recorder opened;
  r->open(AT_FDCWD, slow.c_str(), O_RDONLY | O_CLOEXEC, 0, opened);  // blocks until there is a writer

  constexpr std::size_t count = 100;
  std::deque<recorder> made(count);
  std::deque<std::string> names;
  for (recorder& one : made) {
    names.push_back(directory.path() + "/" + std::to_string(names.size()));
    r->make_directory(names.back().c_str(), 0700, one);
    CHECK(one.results.empty());
  }
  turn_until(*r, [&] { return std::all_of(made.begin(), made.end(), [](auto& one) { return one.ended; }); });
  for (const recorder& one : made) CHECK(one.results == results{0});
  directory_listing found;
  recorder listed;
  r->list(directory.path().c_str(), found, listed);
  turn_until(*r, [&] { return listed.ended; });
  CHECK(found.size() == count + 1);
  CHECK(opened.results.empty());
  r->cancel(opened);  // nothing stops it
  settle(*r);
  CHECK(opened.pending());
  const unique_fd writer(::open(slow.c_str(), O_WRONLY | O_CLOEXEC));
  turn_until(*r, [&] { return opened.ended; });
  REQUIRE(opened.results.front() >= 0);
  recorder closed;
  r->close_file(opened.results.front(), closed);
  turn_until(*r, [&] { return closed.ended; });
  CHECK(closed.results == results{0});
}

TEST_CASE("with poll, pipes are read and written as streams") {
  const auto r = make_poll();
  const ends pipe = pipe_pair();
  std::string room(16, '?');
  recorder got, put;
  r->read(pipe.far.get(), std::as_writable_bytes(std::span(room)), 0, got);
  settle(*r);
  CHECK(got.results.empty());
  r->write(pipe.near.get(), files_for_tests::bytes_of("through a pipe"), 0, put);
  turn_until(*r, [&] { return got.ended && put.ended; });
  CHECK(put.results == results{14});
  CHECK(got.results == results{14});
  CHECK(room.starts_with("through a pipe"));
}

TEST_CASE("poll waits by milliseconds where the kernel knows nothing shorter") {
  class alarm final : public timer_node {
   public:
    alarm() noexcept : timer_node([](timer_node& self) noexcept { static_cast<alarm&>(self).rung = true; }) {}
    ~alarm() = default;
    bool rung = false;
  };
  const auto clock_now = [] {
    return time_point(
        std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()));
  };
  const int failure = GENERATE(ENOSYS, EPERM);
  const pid_t child = fork();
  if (child == 0) {  // the filter stays
    if (!on_reactor::forbid_call(__NR_epoll_pwait2, failure)) _exit(77);
    const auto r = reactor::create({.backend = reactor_backend::poll});
    if (!r) _exit(1);
    for (const nanoseconds wait : {nanoseconds(1ns), nanoseconds(1500us), nanoseconds(5ms)}) {
      alarm a;
      const time_point due = clock_now() + wait;
      (*r)->arm(a, due);
      const auto turns = (*r)->statistics().turns;
      while (!a.rung) (*r)->run_once(nanoseconds::max());
      if (clock_now() < due) _exit(2);
      if ((*r)->statistics().turns - turns > 5) _exit(3);
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    WARN("no seccomp filters here");
    return;
  }
  CHECK(status == 0);
}
