#include "memory_service.hpp"

#include <algorithm>
#include <utility>

#include "../../include/coro/error_format.hpp"
#include "../../include/transport/wire/wire.hpp"
#include "segment_payload.hpp"

namespace scoll::transport {

memory_service::memory_service(endpoint& owner)
    : endpoint_(owner),
      regions_(owner.options().self, owner.options().incarnation, owner.options().region_limit),
      buffers_(max_payload_bytes, owner.options().transfer_buffers),
      transfers_(owner, buffers_) {
  // From inside the release of a message: what follows must not be.
  buffers_.on_refill(
      [](void* self) noexcept {
        auto& service = *static_cast<memory_service*>(self);
        if (!service.refill_.scheduled()) service.endpoint_.get_executor().schedule(service.refill_);
      },
      this);
}

memory_service::~memory_service() {
  buffers_.on_refill(nullptr, nullptr);
  endpoint_.get_executor().unschedule(refill_);
}

void memory_service::close() noexcept {
  transfers_.close({errc::closed, "this node is shutting down"});
}

status memory_service::check(const memory_head& head, const request_view& request) const noexcept {
  const std::size_t carried = request.payload().bytes.size();
  const bool get = head.operation == memory_operation::get;
  if (carried != (get ? 0 : head.length)) {
    return make_error(errc::malformed, "{} of {} bytes carries {}", get ? "a get" : "a put", head.length,
                      carried);
  }
  if (get && (head.length > max_payload_bytes || head.length > request.reply_capacity())) {
    return make_error(errc::too_large, "a get of {} bytes, {} fit the answer", head.length,
                      std::min<std::size_t>(max_payload_bytes, request.reply_capacity()));
  }
  return regions_.check(head);
}

void memory_service::on_request(request_view& request) noexcept {
  const auto head = wire::decode_from<memory_head>(request.head());
  if (!head) return request.refuse(head.error());
  if (const auto s = check(*head, request); !s) return request.refuse(s.error());
  const bool get = head->operation == memory_operation::get;
  if (!get) regions_.write(*head, request.payload().bytes);
  message* const answer = get && !waiting_.empty() ? nullptr : compose(*head);
  if (answer == nullptr) return hold(request, *head);
  incoming work;
  request.accept(work);
  work.reply(*answer);
}

/// Null if there is no buffer at present.
message* memory_service::compose(const memory_head& head) {
  message& m = endpoint_.acquire_message();
  m.set_head_bytes(0);
  if (head.operation == memory_operation::put) return &m;
  const auto copy = [&](std::span<std::byte> into) { regions_.read(head, into); };
  if (load_payload(buffers_, m, head.length, copy)) return &m;
  endpoint_.release_message(m);
  return nullptr;
}

void memory_service::hold(request_view& request, const memory_head& head) {
  if (free_.empty()) {
    blocks_.push_back(std::make_unique<waiting_get[]>(step));
    for (std::size_t i = 0; i < step; ++i) free_.push_back(blocks_.back()[i]);
  }
  waiting_get& get = free_.pop_front();
  get.head = head;
  request.accept(get.work);
  waiting_.push_back(get);
  ++waiting_count_;
}

void memory_service::forget(waiting_get& get) noexcept {
  get.unlink();
  free_.push_front(get);
  --waiting_count_;
}

void memory_service::refilled() noexcept {
  while (!waiting_.empty()) {
    waiting_get& next = waiting_.front();
    if (const auto s = regions_.check(next.head); !s) {
      next.work.refuse(s.error());
    } else if (message* const answer = compose(next.head)) {
      next.work.reply(*answer);
    } else {
      return;
    }
    forget(next);
  }
  transfers_.resume();
}

void memory_service::on_cancelled(incoming& work, bool answer_awaited) noexcept {
  for (waiting_get* get = waiting_.first(); get != nullptr; get = waiting_.next(*get)) {
    if (&get->work != &work) continue;
    if (answer_awaited) {
      work.refuse({errc::cancelled, "the get was aborted"});
    } else {
      work.drop();
    }
    return forget(*get);
  }
}

void memory_service::on_session_lost(session& peer, const error&) noexcept {
  for (waiting_get* get = waiting_.first(); get != nullptr;) {
    waiting_get& candidate = *std::exchange(get, waiting_.next(*get));
    if (candidate.work.from() != &peer) continue;
    candidate.work.drop();
    forget(candidate);
  }
}

}  // namespace scoll::transport
