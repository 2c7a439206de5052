#include "transport/io/receive_slabs.hpp"

namespace scoll::transport {

receive_slabs::receive_slabs(executor& home, function resume, std::size_t slab_bytes, std::uint32_t limit)
    : ready_node(resume), slabs(slab_bytes, limit), home_(home) {
  slabs.on_refill(
      [](void* self) noexcept {
        auto& pool = *static_cast<receive_slabs*>(self);
        pool.dry = false;
        pool.resume_soon();
      },
      this);
}

receive_slabs::~receive_slabs() {
  SCOLL_ASSERT(paused_count == 0, "receive buffers died while a receive waits for one");
  SCOLL_ASSERT(!receiving, "datagram buffers died while a receive uses them");
  slabs.on_refill(nullptr, nullptr);
  home_.unschedule(*this);
}

void receive_slabs::resume_soon() noexcept {
  if (!scheduled()) home_.schedule(*this);
}

void receive_slabs::pause(detail::io_slot& s) noexcept {
  s.where = detail::io_slot::place::paused;
  paused.push_back(s);
  ++paused_count;
}

detail::io_slot& receive_slabs::take_paused() noexcept {
  --paused_count;
  return paused.pop_front();
}

void receive_slabs::forget_paused(detail::io_slot& s) noexcept {
  --paused_count;
  s.unlink();
}

}  // namespace scoll::transport
