#include "transport/io/receive_buffers.hpp"

namespace scoll::transport {

receive_buffers::receive_buffers(executor& home, function resume, std::size_t buffer_bytes,
                                 std::uint32_t limit)
    : ready_node(resume), buffers(buffer_bytes, limit), home_(home) {
  buffers.on_refill(
      [](void* self) noexcept {
        auto& pool = *static_cast<receive_buffers*>(self);
        pool.dry = false;
        pool.resume_soon();
      },
      this);
}

receive_buffers::~receive_buffers() {
  SCOLL_ASSERT(paused_count == 0, "receive buffers died while a receive waits for one");
  SCOLL_ASSERT(!receiving, "datagram buffers died while a receive uses them");
  buffers.on_refill(nullptr, nullptr);
  home_.unschedule(*this);
}

void receive_buffers::resume_soon() noexcept {
  if (!scheduled()) home_.schedule(*this);
}

void receive_buffers::pause(detail::io_slot& s) noexcept {
  s.where = detail::io_slot::place::paused;
  paused.push_back(s);
  ++paused_count;
}

detail::io_slot& receive_buffers::take_paused() noexcept {
  --paused_count;
  return paused.pop_front();
}

void receive_buffers::forget_paused(detail::io_slot& s) noexcept {
  --paused_count;
  s.unlink();
}

}  // namespace scoll::transport
