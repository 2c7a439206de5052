#include "flood.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <span>

#include "bench/kit/key_file.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/greeting_room.hpp"
#include "transport/session/link_guard.hpp"

namespace bench::security {
namespace {

using namespace scoll::transport;

constexpr auto interval = std::chrono::milliseconds(1);
// An answer has come before so many further connections were begun.
constexpr std::size_t unanswered = 32;

void append(std::vector<std::byte>& to, const frame_parts& frame) {
  to.insert(to.end(), frame.head.begin(), frame.head.end());
  to.insert(to.end(), frame.payload.begin(), frame.payload.end());
}

/// What a node that connects says first: a hello, and its first step.
std::vector<std::byte> beginning_of_a_handshake(const std::string& keys) {
  const auto security = make_security(guarded_by(keys), "bench").value();
  hello said;
  const auto guard = security->connect(said).value();
  std::vector<std::byte> bytes;
  greeting_room room;
  frame_header header;
  header.type = frame_type::hello;
  append(bytes, room.encode(header, said));
  header.type = frame_type::secure;
  std::array<std::byte, frame_header_bytes> head;
  append(bytes, encode_control(head, header, guard->unsent()));
  return bytes;
}

/// True if the other side has closed the connection, or has answered.
bool has_heard(const unique_fd& fd) noexcept {
  std::byte first;
  return recv(fd.get(), &first, 1, MSG_DONTWAIT | MSG_PEEK) >= 0 || errno != EAGAIN;
}

/// True if the other side has closed the connection. What it said before is dropped.
bool has_ended(const unique_fd& fd) noexcept {
  std::array<std::byte, 4096> said;
  ssize_t got = 0;
  while ((got = recv(fd.get(), said.data(), said.size(), MSG_DONTWAIT)) > 0) continue;
  return got == 0 || errno != EAGAIN;
}

}  // namespace

flood::flood(std::uint16_t port, const std::string& keys, stranger kind)
    : port_(port),
      kind_(kind),
      beginning_(beginning_of_a_handshake(keys)),
      thread_([this] { connect_for_ever(); }) {}

flood::~flood() {
  over_ = true;
  thread_.join();
}

void flood::connect_for_ever() noexcept {
  try {
    for (auto next = std::chrono::steady_clock::now(); !over_; next += interval) {
      std::this_thread::sleep_until(next);
      begin_one();
      forget_ended();
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "scoll-bench: the flood has ended: %s\n", e.what());
  }
}

void flood::begin_one() {
  open_.push_back(connect_to(port_, {}));
  // A connection that was refused at once cannot be written to.
  static_cast<void>(send(open_.back().get(), beginning_.data(), beginning_.size(), MSG_NOSIGNAL));
}

void flood::forget_ended() {
  const auto over = kind_ == stranger::stays ? &has_ended : &has_heard;
  std::erase_if(open_, over);
  if (kind_ == stranger::hangs_up && open_.size() > unanswered) open_.pop_front();
}

}  // namespace bench::security
