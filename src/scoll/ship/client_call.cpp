#include "scoll/detail/client_call.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/detail/any_group.hpp"
#include "scoll/detail/ship_head.hpp"
#include "scoll/node_access.hpp"
#include "scoll/remaining_time.hpp"
#include "scoll/ship/function_text.hpp"
#include "scoll/ship/shipper.hpp"
#include "transport/memory/transfer.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {

bool call_limit::enter(detail::client_call& call) noexcept {
  if (free_ != 0 && waiting_.empty()) {
    --free_;
    return true;
  }
  waiting_.push_back(call);
  return false;
}

/// A call that is told to go on may leave again at once. Such calls are counted here and not served from
/// within.
void call_limit::leave() noexcept {
  ++free_;
  if (serving_) return;
  serving_ = true;
  while (free_ != 0 && !waiting_.empty()) {
    --free_;
    waiting_.pop_front().proceed();
  }
  serving_ = false;
}

}  // namespace scoll

namespace scoll::detail {
namespace {

/// The least room in an answer: it must hold a text or a descriptor, however small the result is.
constexpr std::size_t least_reply_bytes = 256;

error too_late() noexcept {
  return {errc::deadline_exceeded, "no time was left before the call began"};
}

}  // namespace

client_call::client_call(node& by, node_id to, const function_key& function, bool notification,
                         const ship_options& options) noexcept
    : exchange(&on_answer),
      timer_node(&on_time),
      group_call(&on_revoke),
      shipper_(node_access::shipper(by)),
      to_(to),
      function_(function),
      options_(options),
      within_(options.within.get() == nullptr ? nullptr : options.within.get()->state()),
      stop_(&on_stop, this),
      notification_(notification) {
  shipper_.get_executor().expect_own_thread();
  if (options_.deadline.unlimited()) options_.deadline = shipper_.limits().default_deadline;
  if (shipper_.beside().work().closed()) {
    failure_ = {errc::closed, "this node is shutting down"};
  } else if (options.stop.stop_requested()) {
    failure_ = {errc::cancelled, "the stop token had fired before the call began"};
  } else if (!options.deadline.unlimited() && options.deadline.over(shipper_.get_executor().now())) {
    failure_ = too_late();
  } else if (to == by.wire().options().self) {
    failure_ = {errc::invalid_argument, "a call of this node to itself: call the handler directly"};
  } else if (by.wire().find(to) == nullptr) {
    failure_ = make_error(errc::unreachable, "no address is known for node {}", to);
  } else if (options.within.get() != nullptr) {
    failure_ = why_not_through_group();
  }
}

error client_call::why_not_through_group() const noexcept {
  if (within_ == nullptr) return {errc::invalid_argument, "the call is made through an empty group"};
  if (within_->forgotten) return {errc::unknown_group, "the group has been destroyed"};
  return within_->revoked == nullptr ? error() : *within_->revoked;
}

client_call::~client_call() {
  SCOLL_ASSERT(!begun_ || ended_, "a shipped call was abandoned by its caller");
  if (message_ != nullptr) shipper_.wire().release_message(*message_);
}

std::span<std::byte> client_call::room_in_message() noexcept {
  message_ = &shipper_.wire().acquire_message();
  return message_->payload_space();
}

std::span<std::byte> client_call::room_for(std::size_t size) noexcept {
  const ship_limits& limits = shipper_.limits();
  if (size > limits.large_bytes) {
    failure_ = make_error(errc::too_large, "an argument of {} bytes: at most {} are allowed", size,
                          limits.large_bytes);
  } else if (size > limits.eager_bytes) {
    large_ = std::make_unique<large_part>();
    if (large_->argument.allocate(size)) return large_->argument.span();
    failure_ = make_error(errc::busy, "this process has no memory for an argument of {} bytes", size);
  } else {
    buffer_ = shipper_.wire().acquire_payload();
    if (buffer_) return {buffer_.data(), size};
    failure_ = shipper_.wire().no_payload_left("an argument");
  }
  return {};
}

void client_call::seal(std::size_t size) noexcept {
  if (large_ != nullptr) return;
  if (!buffer_)
    return message_->set_inline_payload(size, wire::checksum(message_->payload_space().first(size)));
  const std::span<const std::byte> bytes(buffer_.data(), size);
  message_->share_payload({std::move(buffer_), bytes}, wire::checksum(bytes));
}

/// Exposes the argument, which the peer pulls; the message says from where.
status client_call::expose(transport::message& m) noexcept {
  auto region =
      transport::memory_region::expose(shipper_.wire(), std::span<const std::byte>(large_->argument.span()));
  if (!region) return region.error();
  large_->region = std::move(*region);
  const auto size = wire::encode_to(m.payload_space(), large_->region.descriptor());
  SCOLL_ASSERT(size.has_value(), "a descriptor exceeds a message");
  m.set_inline_payload(*size, wire::checksum(m.payload_space().first(*size)));
  return {};
}

bool client_call::begin(std::coroutine_handle<> waiter) noexcept {
  SCOLL_ASSERT(!begun_, "a shipped call was awaited twice");
  executor& ex = shipper_.get_executor();
  expires_ = options_.deadline.from(ex.now()).at;
  if (expires_ <= ex.now()) {
    failure_ = too_late();
    return false;
  }
  if (within_ != nullptr) {
    failure_ = why_not_through_group();
    if (failure_) return false;
    within_->calls.push_back(*this);
  }
  begun_ = true;
  wake_.set(waiter);
  shipper_.started(*this);
  in_node_ = shipper_.beside().work().pass();
  if (expires_ != never && !SCOLL_MUTANT(ship_deadline_not_armed, "no timer watches over a shipped call"))
    ex.arm(*this, expires_);
  const bool waits = options_.limit != nullptr && !options_.limit->enter(*this);
  if (!waits) {
    placed_ = options_.limit != nullptr;
    if (const status sent = send(); !sent) {
      failure_ = sent.error();
      conclude();
      return false;
    }
  }
  if (!SCOLL_MUTANT(ship_stop_unheard, "the stop token of a shipped call is not heard"))
    stop_.connect(options_.stop);
  return true;
}

void client_call::proceed() noexcept {
  placed_ = true;
  const status sent = send();
  if (sent) return;
  failure_ = sent.error();
  end();
}

std::uint32_t client_call::reply_capacity() const noexcept {
  const std::size_t eager = shipper_.limits().eager_bytes;
  return static_cast<std::uint32_t>(std::min(eager, std::max(least_reply_bytes, result_bytes_)));
}

status client_call::send() noexcept {
  transport::session* const session = shipper_.wire().find(to_);
  ship_head head;
  head.flags = static_cast<std::uint8_t>((notification_ ? ship_head::notification : 0) |
                                         (large_ != nullptr ? ship_head::large : 0));
  head.function = function_.id;
  head.types = function_.types;
  head.remaining_ns = remaining_on_wire(expires_, shipper_.get_executor().now());
  if (large_ != nullptr) {
    if (const status exposed = expose(*message_); !exposed) return exposed;
  }
  transport::message& m = *std::exchange(message_, nullptr);
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  const status sent =
      session->request(*this, transport::traffic_class::call, m, reply_capacity(), shipper_.limits().queue);
  shipper_.statistics_.shipped += sent.has_value();
  return sent;
}

void client_call::on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
  static_cast<client_call&>(self).heard(event);
}
void client_call::on_time(timer_node& self) noexcept {
  static_cast<client_call&>(self).stop_with({errc::deadline_exceeded, "no result in time"});
}
void client_call::on_stop(void* self) noexcept {
  static_cast<client_call*>(self)->stop_with({errc::cancelled, "the caller's stop token fired"});
}
/// A call whose result is being fetched ends with the transfer.
void client_call::on_revoke(group_call& self, const error& why) noexcept {
  static_cast<client_call&>(self).stop_with(why);
}
void client_call::close(const error& why) noexcept {
  stop_with(why);
}

void client_call::stop_with(const error& why) noexcept {
  if (ended_) return;
  if (!failure_) failure_ = why;
  if (large_ != nullptr && large_->fetching) {
    large_->stop.request_stop();  // the call ends when the transfer has ended
    return;
  }
  list_hook<call_limit>::unlink();
  const bool reached = exchange::cancel();
  may_have_executed_ = reached && !SCOLL_MUTANT(ship_cancelled_as_not_executed,
                                                "a call that is given up is reported as never executed");
  end();
}

void client_call::heard(transport::reply_event& event) noexcept {
  const bool fetching = large_ != nullptr && large_->fetching;
  may_have_executed_ = event.reached && !event.refused;
  if (SCOLL_MUTANT(ship_loss_as_not_executed,
                   "a call that is lost with its peer is reported as never executed") &&
      !event.outcome)
    may_have_executed_ = false;
  const error why = event.outcome ? answered(event) : refusal(event.outcome.error());
  if (why && !failure_) failure_ = why;
  if (fetching) {  // the peer has given up the result, or the connection is lost
    if (!failure_) failure_ = {errc::malformed, "a second answer while a large result was fetched"};
    large_->stop.request_stop();
  } else if (failure_ || event.final) {
    if (!event.final) exchange::cancel();
    end();
  }
}

/// Takes an answer. Returns no error for a result, or for one that is being fetched.
error client_call::answered(transport::reply_event& event) noexcept {
  const auto head = wire::decode_from<ship_reply_head>(event.head);
  if (!head) return head.error();
  switch (head->outcome) {
    case ship_outcome::value:
      answer_ = std::move(event.payload);
      return event.final ? error{} : error(errc::malformed, "a partial answer must hold a descriptor");
    case ship_outcome::error: {
      const auto text = event.payload.bytes;
      const auto code = static_cast<errc>(head->code);
      const auto domain = head->domain <= static_cast<std::uint8_t>(error_domain::user)
                              ? static_cast<error_domain>(head->domain)
                              : error_domain::scoll;
      return {code == errc::ok ? errc::malformed : code,
              {reinterpret_cast<const char*>(text.data()), text.size()},
              head->detail,
              domain};
    }
    case ship_outcome::other_types: return other_types(event);
    case ship_outcome::large: break;
  }
  if (event.final) return {errc::malformed, "the descriptor of a result came in a final answer"};
  return fetch(event.payload.bytes);
}

/// The peer has another function under this number, and did not run it.
error client_call::other_types(transport::reply_event& event) noexcept {
  const auto there = wire::decode_from<function_text>(event.payload.bytes);
  if (!there) return there.error();
  may_have_executed_ = false;
  return other_function(function_, to_, *there);
}

error client_call::fetch(std::span<const std::byte> descriptor) noexcept {
  const auto from = wire::decode_from<transport::region_descriptor>(descriptor);
  if (!from) return from.error();
  if (from->node != to_) return {errc::malformed, "the result's descriptor names another node"};
  const std::size_t most = shipper_.limits().large_bytes;
  if (from->length > most) {
    return make_error(errc::too_large, "a result of {} bytes: at most {} are allowed", from->length, most);
  }
  if (large_ == nullptr) large_ = std::make_unique<large_part>();
  if (large_->fetching || !large_->result.allocate(from->length)) {
    return make_error(errc::busy, "this process has no memory for a result of {} bytes", from->length);
  }
  large_->fetching = true;
  shipper_.scope_.spawn(pull(*from));
  return {};
}

task<void> client_call::pull(transport::region_descriptor from) {
  transport::transfer_options options;
  options.stop = large_->stop.token();
  options.checked = true;
  const status fetched = co_await transport::pull(shipper_.wire(), from, 0, large_->result.span(), options);
  large_->fetching = false;
  if (!fetched && !failure_) failure_ = fetched.error();
  exchange::cancel();  // the peer may release the result
  ++shipper_.statistics_.large;
  end();
}

/// Adds the name to a refusal, because the peer knows functions by number only.
error client_call::refusal(const error& said) const noexcept {
  if (said == errc::unknown_function) return not_served(function_, to_);
  return said;
}

std::span<const std::byte> client_call::result() const noexcept {
  return large_ != nullptr && !large_->result.span().empty() ? large_->result.span() : answer_.bytes;
}

/// Removes everything that refers to this call.
void client_call::conclude() noexcept {
  ended_ = true;
  group_call::unlink();
  shipper_.get_executor().disarm(*this);
  stop_.disconnect();
  if (large_ != nullptr) large_->region.unexpose();
  shipper_.ended(*this);
  in_node_.leave();
  if (placed_ && !SCOLL_MUTANT(ship_place_kept, "a call that has ended keeps its slot of its limit"))
    options_.limit->leave();
}

void client_call::end() noexcept {
  conclude();
  shipper_.get_executor().schedule(wake_);
}

}  // namespace scoll::detail
