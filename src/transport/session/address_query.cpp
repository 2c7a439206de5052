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
  identity said;
  said.node = endpoint_.options_.self;
  said.incarnation = endpoint_.options_.incarnation;
  said.cluster = endpoint_.options_.cluster;
  if (endpoint_.options_.client) said.flags = identity_flags::client;
  greeting_room opening;
  greeting_room who;
  frame_header header;
  header.type = frame_type::hello;
  frame_header follows;
  follows.type = frame_type::identity;
  const std::array frames{opening.encode(header, hello{}), who.encode(follows, said)};
  link_->write(frames);
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
  const auto said = wire::decode_from<identity>(payload);
  if (frame.header.type != frame_type::welcome || !said || said->node == 0 || is_client(said->node))
    return finish(make_error(errc::malformed, "{} did not say who is there", address_));
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
