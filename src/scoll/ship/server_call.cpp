#include "scoll/detail/server_call.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/ship/shipper.hpp"
#include "transport/memory/transfer.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll {

node_id call_context::caller() const noexcept {
  return handling_.caller_;
}
std::uint64_t call_context::caller_incarnation() const noexcept {
  return handling_.caller_incarnation_;
}
std::string_view call_context::caller_name() const noexcept {
  return handling_.caller_name_;
}
bool call_context::notification() const noexcept {
  return handling_.notification_;
}
time_limit call_context::remaining() const noexcept {
  return deadline(handling_.expires_);
}
stop_token call_context::stop() const noexcept {
  return handling_.stop_.token();
}
executor& call_context::get_executor() const noexcept {
  return handling_.shipper_.get_executor();
}
worker_pool& call_context::pool() const {
  return handling_.shipper_.beside().pool();
}

}  // namespace scoll

namespace scoll::detail {

server_call::server_call(shipper& by, served_function& of) noexcept
    : ready_node(&on_turn),
      timer_node(&on_time),
      task_listener(&on_returned),
      shipper_(by),
      function_(of),
      in_function_(of.users.pass()),
      in_node_(by.beside().work().pass()),
      call_(*this) {}

server_call::~server_call() = default;

std::string_view server_call::name() const noexcept {
  return function_.key.name;
}

void server_call::admit(transport::request_view& request, const ship_head& head, ship_peer& from,
                        std::size_t large) noexcept {
  peer_ = &from;
  caller_ = request.from().peer();
  caller_name_ = request.from().client_name();
  caller_incarnation_ = request.from().peer_incarnation();
  reply_capacity_ = request.reply_capacity();
  notification_ = (head.flags & ship_head::notification) != 0;
  large_held_ = large;
  if (head.remaining_ns != 0) {
    constexpr auto longest = static_cast<std::uint64_t>(nanoseconds::max().count());
    const nanoseconds left(static_cast<std::int64_t>(std::min(head.remaining_ns, longest)));
    expires_ = saturating_add(shipper_.get_executor().now(), left);
  }
  request.accept(*this);
  release_credit();  // the table bounds accepted calls: callers must not wait for each other in a circle
}

void server_call::run_later() noexcept {
  if (notification_) acknowledge();
  shipper_.get_executor().schedule(*this);
}

/// Answers a notification as soon as the call is accepted.
void server_call::acknowledge() noexcept {
  transport::message& m = shipper_.wire().acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), ship_reply_head{}));
  reply(m);
}

task<void> server_call::pull(transport::region_descriptor argument) {
  pulling_ = true;
  status fetched;
  if (large_.allocate(argument.length)) {
    transport::transfer_options options;
    options.stop = stop_.token();
    options.checked = true;
    options.deadline = deadline(expires_);
    fetched = co_await transport::pull(shipper_.wire(), argument, 0, large_.span(), options);
  } else {
    fetched =
        make_error(errc::busy, "this process has no memory for an argument of {} bytes", argument.length);
  }
  pulling_ = false;
  ++shipper_.statistics_.large;
  if (fetched) fetched = decode(large_.span());
  if (!fetched) {
    give_up_before_start(fetched.error());
    co_return;
  }
  if (!function_.borrows) large_.release();
  if (notification_ && open()) acknowledge();
  run();
}

/// Tells the caller that nothing was done.
void server_call::give_up_before_start(const error& why) noexcept {
  if (open() && gone_) drop();
  if (open()) refuse(why);
  retire();
}

void server_call::on_turn(ready_node& self) noexcept {
  static_cast<server_call&>(self).run();
}

void server_call::run() noexcept {
  begun_at_ = shipper_.get_executor().now();
  const bool late = expires_ <= begun_at_;
  if (gone_) return give_up_before_start({errc::cancelled, "the caller has gone"});
  if (late) return give_up_before_start({errc::deadline_exceeded, "no time was left to begin"});
  began_ = true;
  ++shipper_.statistics_.executed;
  if (start()) {
    if (SCOLL_MUTANT(ship_handled_twice, "a call is handled twice")) static_cast<void>(start());
    return returned();
  }
  if (expires_ != never) shipper_.get_executor().arm(*this, expires_);
}

bool server_call::start() noexcept {
  work_ = call_handler(call_);
  return work_.done() || !work_.start(*this);
}

void server_call::on_time(timer_node& self) noexcept {
  auto& h = static_cast<server_call&>(self);
  if (!h.holding_) return h.abort();
  h.answer_error({errc::deadline_exceeded, "the result was not fetched in time"});
  h.retire();
}

void server_call::abort() noexcept {
  if (!holding_) {
    stop_.request_stop();
    return;
  }
  answer_error({errc::closed, "the node is shutting down"});
  retire();
}

void server_call::on_caller_cancelled() noexcept {
  gone_ = true;
  if (holding_) {
    drop();
    return retire();
  }
  if (!SCOLL_MUTANT(ship_cancel_unheard, "a handler is not told that its caller waits no longer"))
    stop_.request_stop();
}

void server_call::on_caller_lost() noexcept {
  if (SCOLL_MUTANT(ship_loss_unheard, "a handler is not told that its caller is gone")) return;
  on_caller_cancelled();
}

void server_call::answer_early(const error& why) noexcept {
  if (open() && !holding_) answer_error(why);
}

std::coroutine_handle<> server_call::on_returned(task_listener& self) noexcept {
  static_cast<server_call&>(self).returned();
  return std::noop_coroutine();
}

void server_call::returned() noexcept {
  returned_ = true;
  shipper_.get_executor().disarm(*this);
  function_.latency.add(shipper_.get_executor().now() - begun_at_);
  const status outcome = work_.take();
  if (!outcome) ++function_.failures;
  work_ = {};  // the handler's arguments are no longer needed
  argument_bytes_ = {};
  if (open() && gone_) drop();
  if (!open()) return retire();
  const std::size_t most = std::min<std::size_t>(reply_capacity_, shipper_.limits().eager_bytes);
  const error why = outcome ? answer_value(most) : outcome.error();
  if (why && outcome) ++function_.failures;
  if (why) answer_error(why);
  if (!holding_) retire();
}

/// Encodes the result in place: in the message, or in a buffer of its own.
error server_call::answer_value(std::size_t most) noexcept {
  transport::endpoint& wire_end = shipper_.wire();
  transport::message& m = wire_end.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), ship_reply_head{}));
  const std::span<std::byte> within = m.payload_space();
  auto size = encode(within.first(std::min(within.size(), most)));
  if (size) {
    m.set_inline_payload(*size, wire::checksum(within.first(*size)));
    reply(m);
    return {};
  }
  const std::size_t needed = size.error() == errc::too_large ? result_size() : 0;
  error why;
  if (needed == 0) {
    why = size.error();
  } else if (needed <= most) {
    if (transport::buffer_ref buffer = wire_end.acquire_payload()) {
      encode({buffer.data(), needed}).ignore();
      const std::span<const std::byte> bytes(buffer.data(), needed);
      m.share_payload({std::move(buffer), bytes}, wire::checksum(bytes));
      reply(m);
      return {};
    }
    why = wire_end.no_payload_left("the result");
  }
  wire_end.release_message(m);
  return why ? why : answer_large();
}

/// Offers a large result, which the caller pulls. It is kept until the caller says that it has pulled it.
error server_call::answer_large() noexcept {
  const ship_limits& limits = shipper_.limits();
  const std::size_t size = result_size();
  if (size > limits.large_bytes) {
    return make_error(errc::too_large, "a result of {} bytes: at most {} are allowed", size,
                      limits.large_bytes);
  }
  if (size > limits.large_memory - shipper_.large_held_) {
    return make_error(errc::busy, "ship.large_memory is {}: {} are in use, a result needs {} more",
                      limits.large_memory, shipper_.large_held_, size);
  }
  if (!large_.allocate(size))
    return make_error(errc::busy, "this process has no memory for a result of {} bytes", size);
  if (const auto encoded = encode(large_.span()); !encoded) return encoded.error();
  auto exposed = transport::memory_region::expose(shipper_.wire(), std::span<const std::byte>(large_.span()));
  if (!exposed) return exposed.error();
  region_ = std::make_unique<transport::memory_region>(std::move(*exposed));
  large_held_ += size;
  shipper_.large_held_ += size;
  transport::message& m = shipper_.wire().acquire_message();
  ship_reply_head head;
  head.outcome = ship_outcome::large;
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  const auto bytes = wire::encode_to(m.payload_space(), region_->descriptor());
  m.set_inline_payload(*bytes, wire::checksum(m.payload_space().first(*bytes)));
  reply_part(m);
  holding_ = true;
  executor& ex = shipper_.get_executor();
  ex.arm(*this, std::min(expires_, saturating_add(ex.now(), limits.large_hold)));
  return {};
}

void server_call::answer_error(const error& why) noexcept {
  transport::message& m = shipper_.wire().acquire_message();
  ship_reply_head head;
  head.outcome = ship_outcome::error;
  head.domain = static_cast<std::uint8_t>(why.domain());
  head.code = static_cast<std::uint16_t>(why.code());
  head.detail = why.detail();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  const auto text = std::as_bytes(std::span(why.text()));
  m.copy_payload(text, wire::checksum(text));
  reply(m);
}

void server_call::retire() noexcept {
  shipper_.get_executor().disarm(*this);
  region_.reset();
  if (!SCOLL_MUTANT(ship_large_kept, "the memory of a large argument is not released"))
    shipper_.large_held_ -= large_held_;
  shipper_.retire(*this, *peer_);
}

}  // namespace scoll::detail
