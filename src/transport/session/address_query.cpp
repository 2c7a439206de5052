#include "transport/session/address_query.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"
#include "transport/io/address.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/greeting_room.hpp"
#include "transport/session/guarded_greeting.hpp"

namespace scoll::transport {

address_query::~address_query() {
  if (connecting_) endpoint_.rail_.cancel_connect(*this);
  if (link_ == nullptr) return;
  link_->set_owner(nullptr);
  link_->close();
}

task<result<node_id>> address_query::ask(stop_token stop) {
  connecting_ = true;
  endpoint_.rail_.connect(std::string(address_of_lane(address_, lane_id::control)), *this);
  auto answer = co_await answer_.wait(stop);
  co_return answer;
}

void address_query::finish(const result<node_id>& with) noexcept {
  if (!answer_.is_set()) answer_.set(with);
}

void address_query::on_connected(link& connected) noexcept {
  connecting_ = false;
  link_ = &connected;
  link_->set_owner(this);
  if (endpoint_.options_.security != nullptr) {
    const auto begun = guarded_greeting::begin(*link_, *endpoint_.options_.security, lane_id::control);
    endpoint_.tell_security_news();
    return begun ? void() : finish(begun.error());
  }
  greeting_room opening;
  greeting_room who;
  frame_header header;
  header.type = frame_type::hello;
  const std::array frames{opening.encode(header, hello{}), encode_identity(who)};
  link_->write(frames);
}

frame_parts address_query::encode_identity(greeting_room& room) const noexcept {
  identity said;
  said.node = endpoint_.options_.self;
  said.incarnation = endpoint_.options_.incarnation;
  said.cluster = endpoint_.options_.cluster;
  if (link_->guard() != nullptr) said.channel = link_->guard()->channel();
  if (endpoint_.options_.client) said.flags = identity_flags::client;
  frame_header header;
  header.type = frame_type::identity;
  return room.encode(header, said);
}

bool address_query::is_being_guarded() const noexcept {
  return link_->guard() != nullptr && !link_->guard()->opening();
}

void address_query::on_step(const frame_view& frame) noexcept {
  const status taken = guarded_greeting::take(*link_, frame);
  if (taken) return advance_guard();
  static_cast<void>(guarded_greeting::write_steps(*link_));
  const error why = printable(taken.error().code(), taken.error().text());
  endpoint_.note_refusal(0, why);
  finish(why);
}

void address_query::advance_guard() noexcept {
  if (!guarded_greeting::advance(*link_)) return;
  greeting_room who;
  const frame_parts frame = encode_identity(who);
  link_->write({&frame, 1});
}

void address_query::on_writable() noexcept {
  if (is_being_guarded()) advance_guard();
}

void address_query::on_connect_failed(const error& reason) noexcept {
  connecting_ = false;
  finish(make_error(errc::unreachable, "{}: {}", address_, reason.text()));
}

void address_query::on_frame(frame_view& frame) noexcept {
  const auto payload = frame.payload.bytes;
  if (frame.header.type == frame_type::refuse) {
    const auto why = wire::decode_from<refusal>(payload);
    return finish(why && why->code != 0 ? printable(static_cast<errc>(why->code), why->text)
                                        : error(errc::malformed, "a refusal without reason"));
  }
  if (is_being_guarded()) return on_step(frame);
  const auto said = wire::decode_from<identity>(payload);
  if (frame.header.type != frame_type::welcome || !said || said->node == 0 || is_client(said->node))
    return finish(make_error(errc::malformed, "{} did not say who is there", address_));
  if (const auto s = guarded_greeting::check(*link_, *said, endpoint_.options_.cluster); !s) {
    endpoint_.note_refusal(said->node, s.error());
    return finish(s.error());
  }
  finish(said->node);
}

void address_query::on_closed(const error& reason) noexcept {
  link_ = nullptr;
  finish(make_error(errc::unreachable, "{}: {}", address_, reason.text()));
}

namespace {

/// True for errors that may be over soon.
bool may_pass(const error& why) noexcept {
  return why == errc::unreachable || why == errc::closed || why == errc::busy;
}

}  // namespace

task<result<node_id>> endpoint::find_node(std::string address, stop_token stop) {
  if (const auto s = check_address(address); !s) co_return s.error();
  if (const auto known = found_.find(address); known != found_.end()) {
    const session* const there = find(known->second);
    if (there != nullptr && there->connected(traffic_class::call)) co_return known->second;
  }
  const time_point until = executor_.now() + options_.reconnect_grace;
  nanoseconds pause = options_.backoff_first;
  while (true) {
    deadline_stop patience{deadline(executor_.now() + options_.hello_limit), stop};
    address_query query(*this, address);
    const auto answer = co_await query.ask(patience.token());
    if (draining_) co_return error(errc::closed, "this node is shutting down");
    if (answer && *answer == options_.self) co_return error(errc::invalid_argument, "this node is there");
    if (answer) {
      if (find(*answer) == nullptr) {
        if (const auto s = add_peer(*answer, address); !s) co_return s.error();
      }
      found_[address] = *answer;
      co_return *answer;
    }
    if (stop.stop_requested()) co_return error(errc::cancelled, "stopped while a node was looked for");
    if (patience.stop_requested())
      co_return make_error(errc::unreachable, "{}: nobody introduced itself", address);
    if (!may_pass(answer.error()) || executor_.now() + pause >= until) co_return answer.error();
    const status slept = co_await sleep_for(pause, stop);
    if (!slept) co_return slept.error();
    pause = std::min(pause * 2, options_.backoff_limit);
  }
}

}  // namespace scoll::transport
