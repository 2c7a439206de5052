#include <algorithm>
#include <utility>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/remaining_time.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// The way down: the request is checked, forwarded, executed.
namespace scoll::detail {

// ---- before forwarding

/// False if it was refused.
bool operation::take_request() {
  if (out_of_time()) {
    fail_before_forwarding(why_out_of_time("there was no time to begin"), phase::admission);
    return false;
  }
  if (relay_) return true;
  request_ = frame_pool::allocate(table_->request_size);
  const status decoded = table_->decode_request(request_, request_part());
  if (!decoded) {
    frame_pool::deallocate(std::exchange(request_, nullptr), table_->request_size);
    fail_before_forwarding(decoded.error(), phase::admission);
    return false;
  }
  return true;
}

/// `prepare`, if it is a plain function.
bool operation::prepare_now() {
  if (table_->prepare_now == nullptr || relay_) return true;
  return prepared(table_->prepare_now(service_->instance, request_, context_));
}

task<bool> operation::prepare() {
  const hook_state& asked =
      spawn_hook(table_->prepare(service_->instance, request_, context_), hook_kind::prepare);
  const bool done = co_await until(asked.done);
  co_return prepared(done ? asked.outcome : status(why_out_of_time("prepare has not returned")));
}

/// Whether to go on, by what `prepare` came to.
bool operation::prepared(status checked) {
  if (checked && out_of_time()) checked = why_out_of_time("prepare returned too late");
  if (checked && child_count_ != 0) checked = encode_rewritten();
  if (!checked) fail_before_forwarding(checked.error(), phase::prepare);
  return checked.has_value() || SCOLL_MUTANT(forwards_though_refused);
}

/// `prepare` may have rewritten the request: what it left is what is forwarded.
status operation::encode_rewritten() {
  transport::buffer_ref buffer = engine_->endpoint_.acquire_payload();
  if (!buffer) return error(errc::busy, "no buffer left for a rewritten request");
  std::byte* const at = std::ranges::copy(request_bytes_.bytes.first(head_.subset_bytes), buffer.data()).out;
  const auto size = table_->encode_request(request_, {at, max_request_bytes});
  if (!size) return size.error();
  const std::span<const std::byte> bytes(buffer.data(), head_.subset_bytes + *size);
  received_bytes_ = std::exchange(request_bytes_, {std::move(buffer), bytes});
  return {};
}

void operation::fail_before_forwarding(const error& why, phase where) {
  refused_ = true;
  const std::uint16_t index = note(where, why);
  outcome_.add({relative_, relative_ + 1}, member_state::failed, index);
  for (child& c : children()) {
    mark_subtree(c, member_state::not_reached, index);
    c.at = child::state::settled;
  }
  unsettled_ = 0;
  execute_settled_ = true;
}

// ---- downwards

void operation::forward() {
  unsettled_ = child_count_;
  if (child_count_ != 0) request_checksum_ = wire::checksum(request_bytes_.bytes);
  for (child& c : children()) send_to(c);
  rearm();
}

void operation::send_to(child& c) {
  const std::uint32_t rank = rank_at(c.relative);
  transport::session* session = engine_->session_to(*group_, rank);
  c.at = child::state::arrived;
  c.lost = true;
  if (session == nullptr) {
    c.reason = make_error(errc::unreachable, "no address is known for node {}", group_->members->node(rank));
    return progress_.set();
  }
  transport::message& m = engine_->endpoint_.acquire_message();
  const time_point now = engine_->executor_.now();
  const std::uint32_t levels = SCOLL_MUTANT(timeout_without_cascade) ? 1 : c.levels;
  c.due = by_deadline_ ? expires_ : std::min(expires_, now + levels * (rtt_ + margin_) + processing_);
  head_.remaining_ns = by_deadline_ ? remaining_on_wire(expires_, now) : 0;
  head_.processing_ns = static_cast<std::uint64_t>(processing_.count());
  const auto head_size = wire::encode_to(m.head_space(), head_);
  SCOLL_ASSERT(head_size.has_value(), "a collective head exceeds a message head");
  m.set_head_bytes(*head_size);
  if (request_bytes_.bytes.size() <= transport::message::inline_payload_bytes) {
    m.copy_payload(request_bytes_.bytes, request_checksum_);
  } else {
    m.share_payload(request_bytes_, request_checksum_);
  }
  const auto capacity = static_cast<std::uint32_t>(std::min<std::size_t>(
      transport::max_payload_bytes, account_reserve_bytes + table_->reply_capacity + 64));
  const status sent = session->request(c, transport::traffic_class::collective, m, capacity);
  if (!sent) {
    c.reason = sent.error();
    return progress_.set();
  }
  c.at = child::state::pending;
  c.lost = false;
}

/// Forwards leave before an `execute` starts that may hold this thread for a while.
event::awaiter operation::forwards_left() noexcept {
  submitted_.reset();
  engine_->executor_.schedule_late(submitting_);
  return submitted_.wait();
}

void operation::on_submitted() {
  engine_->executor_.flush_io();
  submitted_.set();
}

void operation::start_execute() {
  if (relay_) {
    executed() = {.running = false, .done = true, .outcome = other_version()};
    return;
  }
  if (out_of_time()) return;
  own_ = frame_pool::allocate(table_->reply_size);
  execute_started_ = true;
  ++engine_->statistics_.executed;
  if (table_->execute_now != nullptr) {
    executed().outcome = table_->execute_now(service_->instance, request_, own_, context_);
    executed().done = true;
    return;
  }
  spawn_hook(table_->execute(service_->instance, request_, own_, context_), hook_kind::execute);
}

error operation::other_version() const {
  const error said =
      make_error(errc::version_mismatch, "the request has version {}, this node serves version {}",
                 head_.service_version, table_->version);
  return {said.code(), said.text(), table_->version};
}

}  // namespace scoll::detail
