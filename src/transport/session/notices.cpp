#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/notice.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/byte_order.hpp"

// Notices: messages that are sequenced and retained as requests are, and to which nothing is answered.
namespace scoll::transport {

using wire::detail::load_little;
using wire::detail::store_little;

void emission::forget() noexcept {
  unlink();
  pending_ = false;
  if (notice_ != nullptr) std::exchange(notice_, nullptr)->ticket_ = nullptr;
}

// ---- sending

status session::notify(message& m, emission& ticket) noexcept {
  SCOLL_ASSERT(!ticket.pending(), "a ticket stands for one notice at a time");
  SCOLL_ASSERT(m.header().payload_bytes == 0 && m.header().head_bytes <= max_notice_head_bytes,
               "a notice has a short head and no payload");
  error refused;
  if (endpoint_.draining_) {
    refused = {errc::closed, "this node is shutting down"};
  } else if (dead() && peer_epoch_ == 0) {
    refused = make_error(errc::peer_died, "node {} is dead", peer_);
  } else if (endpoint_.notices_queued_ >= limits::queued_notices) {
    refused = make_error(errc::busy, "{} notices wait for their links, which is the limit",
                         endpoint_.notices_queued_);
  }
  if (refused) {
    endpoint_.release_message(m);
    return refused;
  }
  store_little(m.envelope(), std::uint64_t{0});
  store_little(m.envelope() + 8, std::uint64_t{0});
  ticket.notice_ = &m;
  ticket.state_ = notice_state::queued;
  ticket.pending_ = true;
  m.ticket_ = &ticket;
  ++endpoint_.notices_queued_;
  ++notices_queued_;
  enqueue(m, traffic_class::urgent, frame_type::notice);
  return {};
}

/// A link is about to have the notice.
void session::notice_taken(message& m) noexcept {
  --endpoint_.notices_queued_;
  --notices_queued_;
  classes_[index(traffic_class::urgent)].credits.on_sent();
  ++endpoint_.statistics_.notices_sent;
  if (m.ticket_ != nullptr) advance(*m.ticket_, notice_state::emitted);
}

/// The session lets go of the notice.
void session::notice_over(message& m, notice_state how) noexcept {
  if (m.header().sequence == 0) {  // it never left
    --endpoint_.notices_queued_;
    --notices_queued_;
  }
  if (m.ticket_ == nullptr) return;
  emission& ticket = *std::exchange(m.ticket_, nullptr);
  ticket.notice_ = nullptr;
  advance(ticket, how);
}

void session::advance(emission& ticket, notice_state to) noexcept {
  ticket.state_ = to;
  if (!ticket.linked()) told_.push_back(ticket);
  if (!telling_.scheduled()) endpoint_.executor_.schedule(telling_);
}

void session::tell_progress() noexcept {
  tell_emissions({});
}

/// Tells the tickets in a step of its own, because links and lists are in use where the progress is made.
/// Each ticket may forget or destroy others meanwhile.
void session::tell_emissions(const error& reason) noexcept {
  while (!told_.empty()) {
    emission& ticket = told_.pop_front();
    const notice_state state = ticket.state_;
    ticket.pending_ = state == notice_state::emitted;
    ticket.on_progress_(ticket, state, state == notice_state::lost ? reason : error());
  }
}

// ---- receiving

/// The credit goes back at once: nothing is kept of a notice.
status session::on_notice(const frame_view& frame) noexcept {
  if (load_little<std::uint64_t>(frame.head.data()) != 0) {
    return error(errc::malformed, "a notice with an exchange id");
  }
  classes_[index(traffic_class::urgent)].credits.on_received();
  dispose(traffic_class::urgent);
  ++endpoint_.statistics_.notices_received;
  endpoint_events& handler = endpoint_.handler_of(traffic_class::urgent);
  if (with_client() || !handler.on_notice(*this, frame.head.subspan(message::envelope_bytes))) {
    ++endpoint_.statistics_.notices_dropped;
  }
  return {};
}

}  // namespace scoll::transport
