#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>

#include "transport/verbs/ibverbs/ibverbs_context.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t most_at_once = 64;  // receives in one post, and completions in one poll

completion::result outcome_of(ibv_wc_status status) noexcept {
  switch (status) {
    case IBV_WC_SUCCESS: return completion::result::success;
    case IBV_WC_WR_FLUSH_ERR: return completion::result::flushed;
    case IBV_WC_RETRY_EXC_ERR: return completion::result::retries_exceeded;
    case IBV_WC_RNR_RETRY_EXC_ERR: return completion::result::receiver_not_ready;
    case IBV_WC_REM_ACCESS_ERR: return completion::result::access_denied;
    default: return completion::result::failed;
  }
}

ibv_sge piece_of(const std::byte* data, std::uint32_t size, std::uint32_t key) noexcept {
  return {reinterpret_cast<std::uintptr_t>(data), size, key};
}

/// Posts requests in one list. `fill` writes each of them and the piece of memory that it is about. Returns how
/// many the device has taken.
template <class Request, class Fill>
std::size_t post_list(ibv_qp& qp, std::span<const Request> requests, const Fill& fill) noexcept {
  std::array<ibv_send_wr, most_posted> list;
  std::array<ibv_sge, most_posted> pieces;
  const std::size_t count = std::min(requests.size(), most_posted);
  for (std::size_t i = 0; i < count; ++i) {
    list[i] = {};
    list[i].wr_id = requests[i].tag;
    list[i].next = i + 1 == count ? nullptr : &list[i + 1];
    list[i].sg_list = &pieces[i];
    list[i].num_sge = 1;
    fill(requests[i], list[i], pieces[i]);
  }
  ibv_send_wr* bad = nullptr;
  if (count == 0 || ibv_post_send(&qp, list.data(), &bad) == 0) return count;
  return bad == nullptr ? 0 : static_cast<std::size_t>(bad - list.data());
}

}  // namespace

std::size_t ibverbs_context::post(receive_queue* which, std::span<const receive_request> receives) noexcept {
  std::array<ibv_recv_wr, most_at_once> list;
  std::array<ibv_sge, most_at_once> pieces;
  const std::size_t count = std::min(receives.size(), most_at_once);
  for (std::size_t i = 0; i < count; ++i) {
    const receive_request& r = receives[i];
    pieces[i] = piece_of(r.data, r.size, r.local_key);
    list[i] = {r.tag, i + 1 == count ? nullptr : &list[i + 1], &pieces[i], 1};
  }
  ibv_recv_wr* bad = nullptr;
  if (count == 0 || ibv_post_srq_recv(static_cast<shared_receives*>(which)->srq, list.data(), &bad) == 0)
    return count;
  return bad == nullptr ? 0 : static_cast<std::size_t>(bad - list.data());
}

std::size_t ibverbs_context::post(queue_pair_object* object, std::span<const send_request> sends) noexcept {
  const auto fill = [](const send_request& s, ibv_send_wr& wr, ibv_sge& piece) {
    piece = piece_of(s.data, s.size, s.local_key);
    wr.num_sge = s.size == 0 ? 0 : 1;
    wr.opcode = IBV_WR_SEND_WITH_IMM;
    wr.imm_data = htonl(s.immediate);
    wr.send_flags = unsigned{IBV_SEND_SOLICITED} | (s.signalled ? unsigned{IBV_SEND_SIGNALED} : 0U) |
                    (s.inlined ? unsigned{IBV_SEND_INLINE} : 0U);
  };
  return post_list(*static_cast<pair*>(object)->qp, sends, fill);
}

std::size_t ibverbs_context::post(queue_pair_object* object, std::span<const read_request> reads) noexcept {
  const auto fill = [](const read_request& r, ibv_send_wr& wr, ibv_sge& piece) {
    piece = piece_of(r.into, r.size, r.local_key);
    wr.opcode = IBV_WR_RDMA_READ;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma.remote_addr = r.remote_address;
    wr.wr.rdma.rkey = r.remote_key;
  };
  return post_list(*static_cast<pair*>(object)->qp, reads, fill);
}

/// Each binding gives a window another key.
std::size_t ibverbs_context::post(queue_pair_object* object,
                                  std::span<const window_request> windows) noexcept {
  auto& own = static_cast<pair&>(*object);
  const auto fill = [&own](const window_request& w, ibv_send_wr& wr, ibv_sge&) {
    ibv_mw* const window = own.windows[w.window];
    wr.num_sge = 0;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.opcode = w.memory == nullptr ? IBV_WR_LOCAL_INV : IBV_WR_BIND_MW;
    if (w.memory == nullptr) {
      wr.invalidate_rkey = window->rkey;
      return;
    }
    wr.bind_mw.mw = window;
    wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
    wr.bind_mw.bind_info = {static_cast<const memory*>(w.memory)->region,
                            reinterpret_cast<std::uintptr_t>(w.bytes.data()), w.bytes.size(),
                            IBV_ACCESS_REMOTE_READ};
  };
  const std::size_t posted = post_list(*own.qp, windows, fill);
  for (const window_request& w : windows.first(posted)) {
    if (w.memory != nullptr) own.windows[w.window]->rkey = ibv_inc_rkey(own.windows[w.window]->rkey);
  }
  return posted;
}

std::uint32_t ibverbs_context::window_key(const queue_pair_object* object,
                                          std::uint32_t window) const noexcept {
  return static_cast<const pair*>(object)->windows[window]->rkey;
}

std::size_t ibverbs_context::post(queue_pair_object* object,
                                  std::span<const datagram_request> sends) noexcept {
  const auto fill = [](const datagram_request& s, ibv_send_wr& wr, ibv_sge& piece) {
    piece = piece_of(s.data, s.size, s.local_key);
    wr.opcode = IBV_WR_SEND;
    wr.send_flags = IBV_SEND_SIGNALED | (s.inlined ? unsigned{IBV_SEND_INLINE} : 0U);
    wr.wr.ud.ah = static_cast<handle*>(s.to)->ah;
    wr.wr.ud.remote_qpn = s.queue_pair;
    wr.wr.ud.remote_qkey = s.queue_key;
  };
  return post_list(*static_cast<pair*>(object)->qp, sends, fill);
}

/// If a request has failed, only four members of its completion are valid, and only those are read.
int ibverbs_context::poll(completion_queue* which, std::span<completion> into) noexcept {
  std::array<ibv_wc, most_at_once> done;
  const auto wanted = static_cast<int>(std::min(into.size(), done.size()));
  const int count = ibv_poll_cq(static_cast<queue*>(which)->cq, wanted, done.data());
  for (int i = 0; i < count; ++i) {
    const ibv_wc& wc = done[static_cast<std::size_t>(i)];
    completion c;
    c.tag = wc.wr_id;
    c.queue_pair = wc.qp_num;
    c.outcome = outcome_of(wc.status);
    c.vendor_error = wc.vendor_err;
    if (wc.status == IBV_WC_SUCCESS) {
      c.bytes = wc.byte_len;
      c.has_immediate = (wc.wc_flags & IBV_WC_WITH_IMM) != 0;
      c.immediate = c.has_immediate ? ntohl(wc.imm_data) : 0;
      c.source_pair = wc.src_qp;
      c.has_global_header = (wc.wc_flags & IBV_WC_GRH) != 0;
    }
    into[static_cast<std::size_t>(i)] = c;
  }
  return count;
}

/// Messages are sent as solicited, so their arrivals can be told from what else completes. The event that has woken
/// somebody is taken only now, because answers to what has arrived need not wait for that.
status ibverbs_context::arm(completion_queue* which, wake_for what) noexcept {
  if (std::exchange(event_due_, false)) take_completion_event();
  const int solicited_only = what == wake_for::arrivals ? 1 : 0;
  if (ibv_req_notify_cq(static_cast<queue*>(which)->cq, solicited_only) == 0) return {};
  return error(errc::io_error, "verbs: req_notify_cq");
}

// ---- waiting

/// Takes one event, and leaves another one, which there seldom is, to the next wake-up. Each that was taken is
/// acknowledged, because only then can its queue be destroyed.
bool ibverbs_context::take_completion_event() noexcept {
  ibv_cq* cq = nullptr;
  void* unused = nullptr;
  if (ibv_get_cq_event(channel_, &cq, &unused) != 0) return false;
  ibv_ack_cq_events(cq, 1);
  return true;
}

void ibverbs_context::wake_on_completion(wakeup& waiter) noexcept {
  waiter_ = &waiter;
  completions_.wait(channel_->fd);
}

void ibverbs_context::completions_readable(void* self) noexcept {
  auto& context = *static_cast<ibverbs_context*>(self);
  context.event_due_ = true;
  if (context.waiter_ != nullptr) std::exchange(context.waiter_, nullptr)->on_wake();
}

bool ibverbs_context::take_event(device_event& into) noexcept {
  ibv_async_event event{};
  while (ibv_get_async_event(context_, &event) == 0) {
    into = {};
    bool known = true;
    switch (event.event_type) {
      case IBV_EVENT_PORT_ERR:
      case IBV_EVENT_PORT_ACTIVE:
        into.kind = event.event_type == IBV_EVENT_PORT_ERR ? device_event::what::port_down
                                                           : device_event::what::port_up;
        into.port = static_cast<std::uint8_t>(event.element.port_num);
        break;
      case IBV_EVENT_GID_CHANGE: into.kind = device_event::what::addresses_changed; break;
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
        into.kind = device_event::what::queue_pair_failed;
        into.queue_pair = event.element.qp->qp_num;
        break;
      case IBV_EVENT_CQ_ERR:
      case IBV_EVENT_SRQ_ERR:
      case IBV_EVENT_DEVICE_FATAL: into.kind = device_event::what::device_failed; break;
      default: known = false;
    }
    ibv_ack_async_event(&event);
    if (known) return true;
  }
  return false;
}

void ibverbs_context::wake_on_event(wakeup& waiter) noexcept {
  event_waiter_ = &waiter;
  events_.wait(context_->async_fd);
}

void ibverbs_context::events_readable(void* self) noexcept {
  auto& context = *static_cast<ibverbs_context*>(self);
  if (context.event_waiter_ != nullptr) std::exchange(context.event_waiter_, nullptr)->on_wake();
}

void ibverbs_context::stop_waking(wakeup& stopped) noexcept {
  waiter_ = event_waiter_ = nullptr;
  stop_waiter_ = &stopped;
  completions_.stop();
  events_.stop();
  watch_stopped(this);
}

void ibverbs_context::watch_stopped(void* self) noexcept {
  auto& context = *static_cast<ibverbs_context*>(self);
  const bool idle = context.completions_.idle() && context.events_.idle();
  if (idle && context.stop_waiter_ != nullptr && !context.stopped_.scheduled())
    context.home_.schedule(context.stopped_);
}

void ibverbs_context::stopped() noexcept {
  std::exchange(stop_waiter_, nullptr)->on_wake();
}

}  // namespace scoll::transport::verbs
