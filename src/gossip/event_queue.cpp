#include "gossip/event_queue.hpp"

#include <algorithm>
#include <utility>

namespace scoll::gossip {

event_queue::event_queue(std::size_t capacity)
    : slots_(std::make_unique<liveness_event[]>(std::max<std::size_t>(capacity, 1))),
      capacity_(std::max<std::size_t>(capacity, 1)) {}

void event_queue::on_liveness(const liveness_event& e) noexcept {
  if (size_ == capacity_) {
    lost_ = true;
    first_ = (first_ + 1) % capacity_;
    --size_;
  }
  slots_[(first_ + size_++) % capacity_] = e;
  ready_.set();
}

task<result<liveness_event>> event_queue::next(stop_token stop) {
  const status waited = co_await ready_.wait(stop);
  if (!waited) co_return waited.error();
  if (std::exchange(lost_, false)) co_return errc::stale;
  const liveness_event e = slots_[first_];
  first_ = (first_ + 1) % capacity_;
  if (--size_ == 0) ready_.reset();
  co_return e;
}

}  // namespace scoll::gossip
