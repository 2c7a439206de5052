#include "tools/scoll-sim/guards/outsider_visit.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "tools/scoll-sim/guards/outsiders.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/guarded_greeting.hpp"
#include "transport/sim/sim_security.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::sim {
namespace {

using transport::frame_header;
using transport::frame_type;

constexpr std::uint64_t endless_steps = 20;
constexpr std::size_t step_bytes = 16;
constexpr std::size_t overlong_bytes = 20'000;

std::vector<std::byte> frame_of(frame_type type, std::span<const std::byte> payload) {
  std::vector<std::byte> bytes(transport::frame_header_bytes + payload.size());
  frame_header header;
  header.type = type;
  transport::encode_control(std::span(bytes).first<transport::frame_header_bytes>(), header, payload);
  std::ranges::copy(payload, bytes.begin() + transport::frame_header_bytes);
  return bytes;
}

template <class T>
std::vector<std::byte> frame_that_says(frame_type type, const T& said) {
  std::array<std::byte, transport::max_control_payload_bytes> payload;
  const std::size_t size = wire::encode_to(payload, said).value();
  return frame_of(type, std::span(payload).first(size));
}

}  // namespace

outsider_visit::outsider_visit(testing::sim_world& world, const events::outsider& what, means with,
                               std::uint64_t visited)
    : how(what), life(visited), world_(world), means_(std::move(with)) {}

outsider_visit::~outsider_visit() {
  if (link_ != nullptr) hang_up();
}

void outsider_visit::on_connected(transport::link& l) noexcept {
  link_ = &l;
  link_->set_owner(this);
  connected = true;
  came = world_.now();
  begin();
}

void outsider_visit::on_connect_failed(const error&) noexcept {
  over = true;
}

void outsider_visit::on_closed(const error&) noexcept {
  link_ = nullptr;
  over = true;
  ended = world_.now();
}

void outsider_visit::hang_up() noexcept {
  link_->set_owner(nullptr);
  std::exchange(link_, nullptr)->close();
  over = true;
}

void outsider_visit::begin() {
  switch (how.manner) {
    case outsider_manner::without_proof: say_hello(means_.mode); return say_identity();
    case outsider_manner::wrong_secret:
    case outsider_manner::unknown_key:
    case outsider_manner::removed_key:
    case outsider_manner::other_node:
      static_cast<void>(
          transport::guarded_greeting::begin(*link_, *means_.security, transport::lane_id::control));
      return;
    case outsider_manner::replay: return repeat_next();
    case outsider_manner::silent:
    case outsider_manner::cut: return begin_silent();
    case outsider_manner::downgrade: say_hello(0); return say_identity();
    case outsider_manner::endless:
      say_hello(means_.mode);
      for (std::uint64_t i = 0; i < endless_steps; ++i) say_step(step_bytes);
      return;
    case outsider_manner::overlong: say_hello(means_.mode); return say_step(overlong_bytes);
  }
}

/// Says nothing, a hello, a part of a step, or what a node has said first, as often as it was answered.
void outsider_visit::begin_silent() {
  if (how.step == 1 || how.step == 2) say_hello(means_.mode);
  if (how.step == 2) say_step(step_bytes);
  if (how.step == 3 && !means_.recorded.empty()) repeat_next();
  if (link_->writable()) hang_up_if_said();
}

void outsider_visit::on_frame(transport::frame_view& frame) noexcept {
  if (frame.header.type == frame_type::refuse) {
    const auto why = wire::decode_from<transport::refusal>(frame.payload.bytes);
    if (why) refused = {static_cast<errc>(why->code), why->text};
    return;
  }
  if (frame.header.type != frame_type::secure) {
    let_in = true;
    return;
  }
  if (answered == nanoseconds(0)) answered = world_.now();
  go_on(frame);
}

void outsider_visit::go_on(const transport::frame_view& frame) noexcept {
  if (how.manner == outsider_manner::replay) return repeat_next();
  if (how.manner == outsider_manner::cut) return hang_up_for_now();
  if (link_->guard() != nullptr && transport::guarded_greeting::take(*link_, frame)) go_on_proving();
}

/// Whoever has a key makes its steps, and says who it is when they are made.
void outsider_visit::go_on_proving() noexcept {
  if (link_ != nullptr && link_->guard() != nullptr && transport::guarded_greeting::advance(*link_))
    say_identity();
}

void outsider_visit::say(std::vector<std::byte> bytes) {
  waiting_.push_back(std::move(bytes));
  say_waiting();
}

void outsider_visit::say_waiting() noexcept {
  while (link_ != nullptr && !waiting_.empty() && link_->writable()) {
    const std::vector<std::byte> now = std::move(waiting_.front());
    waiting_.pop_front();
    const transport::frame_parts whole{now, {}};
    link_->write({&whole, 1});
  }
}

void outsider_visit::on_writable() noexcept {
  say_waiting();
  go_on_proving();
  hang_up_if_said();
}

/// Whoever hangs up does so when it has said what it has to say, or with the first answer.
void outsider_visit::hang_up_if_said() noexcept {
  const bool awaits_answer = how.step == 3 && !means_.recorded.empty();
  if (how.manner == outsider_manner::cut && link_ != nullptr && waiting_.empty() && !awaits_answer)
    hang_up_for_now();
}

void outsider_visit::hang_up_for_now() {
  hang_up();
  if (means_.come_again) means_.come_again();
}

void outsider_visit::say_hello(std::uint8_t security) {
  transport::hello said;
  said.security = security;
  said.key = security == 0 ? 0 : means_.key;
  say(frame_that_says(frame_type::hello, said));
}

/// In the name of another node, and as if it were a later life of it.
void outsider_visit::say_identity() {
  transport::identity said;
  said.node = how.claims + 1;
  said.target = how.to + 1;
  said.incarnation = outsiders::incarnation;
  said.epoch = 1;
  said.attempt = outsiders::incarnation;
  said.window = {8, 8, 8, 4};
  said.cluster = means_.cluster;
  if (link_->guard() != nullptr && link_->guard()->proven()) said.channel = link_->guard()->channel();
  say(frame_that_says(frame_type::identity, said));
}

/// A step that claims to be a part of more.
void outsider_visit::say_step(std::size_t bytes) {
  std::vector<std::byte> step(bytes, std::byte{0x7f});
  step[3] = std::byte{0};
  say(frame_of(frame_type::secure, step));
}

void outsider_visit::repeat_next() {
  if (repeated_ < means_.recorded.size()) say(means_.recorded[repeated_++]);
}

}  // namespace scoll::sim
