#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "transport/verbs/device.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t most_taken = 64;  // in one step
constexpr std::uint32_t few_sends = 16;
constexpr nanoseconds most_unseen = std::chrono::milliseconds(10);

}  // namespace

void device::on_completion() noexcept {
  armed_ = wake_for::nothing;
  if (!step_.scheduled()) home_.schedule(step_);
}

void device::step() noexcept {
  if (opened_ == nullptr) return;
  if (take_some()) return home_.schedule(step_);
  if (!end_of_turn_.scheduled()) home_.schedule_late(end_of_turn_);
  look_later();
}

/// The answers to what has arrived are sent at the end of the turn, too, and go first: they carry promises, and
/// peers wait for them.
void device::end_turn() noexcept {
  behind_answers_ = !behind_answers_;
  if (behind_answers_) return home_.schedule_late(end_of_turn_);
  tell_news();
  arm();
}

/// Something may have completed between the last look and the arming, so it looks once more.
void device::arm() noexcept {
  while (opened_ != nullptr && watching_ && !ending_watch_ && armed_ < wanted()) {
    const wake_for what = wanted();
    if (!opened_->context->arm(opened_->completions, what))
      return fail({errc::io_error, "the queue of completions cannot be armed"});
    armed_ = what;
    opened_->context->wake_on_completion(completion_);
    if (!take_some()) continue;
    if (!step_.scheduled()) home_.schedule(step_);
    return;
  }
}

/// Each READ is waited for, and so is a slab. Of sends, the more are under way the sooner
/// one of them has to be seen.
wake_for device::wanted() const noexcept {
  const bool sends = sends_under_way_ > few_sends || !slab_waiters_.empty();
  return reads_under_way_ != 0 || sends ? wake_for::everything : wake_for::arrivals;
}

void device::sends_posted(std::uint32_t count) noexcept {
  sends_under_way_ += count;
  arm_later();
}

void device::reads_posted(std::uint32_t count) noexcept {
  reads_under_way_ += count;
  arm_later();
}

/// More may be waited for than the queue is armed for.
void device::arm_later() noexcept {
  look_later();
  if (armed_ < wanted() && !end_of_turn_.scheduled()) home_.schedule_late(end_of_turn_);
}

/// Neither a few sends nor a turn that does not end keep completions from being seen.
void device::look() noexcept {
  if (opened_ == nullptr) return;
  if (take_some() && !step_.scheduled()) home_.schedule(step_);
  arm();
  if (sends_under_way_ != 0) look_later();
}

void device::look_later() noexcept {
  if (!look_timer_.armed()) home_.arm(look_timer_, home_.now() + most_unseen);
}

void device::drain() noexcept {
  if (taking_ || opened_ == nullptr) return;
  while (take_some()) {
  }
}

/// Returns true if there may be more.
bool device::take_some() noexcept {
  std::array<completion, most_taken> done;
  taking_ = true;
  const int count = opened_->context->poll(opened_->completions, done);
  for (int i = 0; i < count; ++i) take(done[static_cast<std::size_t>(i)]);
  taking_ = false;
  if (count < 0) {
    fail({errc::io_error, "the queue of completions has failed"});
    return false;
  }
  if (count > 0) {
    refill();
    renew_touched();
  }
  return count == static_cast<int>(most_taken);
}

/// The tag of a receive is the number of its place, and that of anything else is above all of those.
void device::take(const completion& done) noexcept {
  if (done.tag < opened_->posted.size()) return take_received(done);
  const auto found = by_number_.find(done.queue_pair);
  if (found != by_number_.end()) found->second->on_posted_done(done);
}

/// The place is the queue pair's until it is posted again. If services hold many places, the bytes are copied
/// out of it instead.
void device::take_received(const completion& done) noexcept {
  const auto index = static_cast<std::size_t>(done.tag);
  buffer_ref place = std::move(opened_->posted[index]);
  --posted_;
  const auto found = by_number_.find(done.queue_pair);
  if (found == by_number_.end() || found->second->for_messages() == nullptr) return;
  queue_pair& pair = *found->second->for_messages();
  if (done.outcome != completion::result::success) return pair.on_receive_failed(done);
  const std::size_t size = std::min<std::size_t>(done.bytes, slot_bytes);
  if (opened_->slots->lent() - posted_ > budget_.holdable() && size != 0) {
    buffer_ref copy = copies_.try_acquire();
    if (!copy) return pair.fail({errc::busy, "no buffer left to receive into: raise verbs.frame_buffers"});
    std::memcpy(copy.data(), place.data(), size);
    place = std::move(copy);
  }
  pair.on_received(place, {place.data(), size}, done.immediate);
}

/// Posts all places that are free.
void device::refill() noexcept {
  if (opened_ == nullptr || taking_) return;
  constexpr std::size_t batch = 64;
  std::array<receive_request, batch> requests;
  while (true) {
    std::size_t count = 0;
    for (; count < batch; ++count) {
      buffer_ref place = opened_->slots->try_acquire();
      if (!place) break;
      const std::uint32_t index = place.index();
      requests[count] = {index, place.data(), slot_bytes, opened_->slot_key};
      opened_->posted[index] = std::move(place);
    }
    if (count == 0) return;
    const std::size_t posted = opened_->context->post(opened_->receives, std::span(requests).first(count));
    posted_ += posted;
    if (posted == count) continue;
    return fail({errc::io_error, "places for what arrives cannot be posted"});
  }
}

void device::slot_returned(void* object) noexcept {
  auto& self = *static_cast<device*>(object);
  if (!self.taking_ && !self.refill_.scheduled()) self.home_.schedule(self.refill_);
}

// ---- promises

void device::touch(queue_pair& pair) noexcept {
  if (!static_cast<list_hook<touched_list>&>(pair).linked()) touched_.push_back(pair);
}

/// Promises what has been posted again. News that nothing else carries leave at the end of the turn.
void device::renew_touched() noexcept {
  if (touched_.empty()) return;
  for (queue_pair* p = touched_.first(); p != nullptr; p = touched_.next(*p)) p->renew();
  if (!end_of_turn_.scheduled()) home_.schedule_late(end_of_turn_);
}

void device::tell_news() noexcept {
  bool surplus = false;
  while (!touched_.empty()) {
    queue_pair& pair = touched_.pop_front();
    pair.tell_news();
    surplus = surplus || pair.has_surplus();
  }
  if (surplus && !idle_timer_.armed()) home_.arm(idle_timer_, home_.now() + options_.give_back_after);
}

void device::give_back_idle() noexcept {
  bool more = false;
  for (device_pair* each = pairs_.first(); each != nullptr; each = pairs_.next(*each)) {
    queue_pair* const pair = each->for_messages();
    if (pair == nullptr) continue;
    pair->give_back_if_idle();
    more = more || pair->has_surplus();
  }
  if (more) home_.arm(idle_timer_, home_.now() + options_.give_back_after);
}

// ---- slabs

void device::give_slab(slab& s) noexcept {
  opened_->slabs.release(s);
  if (!slab_waiters_.empty() && !slab_free_.scheduled()) home_.schedule(slab_free_);
}

void device::wait_for_slab(queue_pair& pair) noexcept {
  if (!static_cast<list_hook<slab_waiters>&>(pair).linked()) slab_waiters_.push_back(pair);
  arm_later();
}

void device::wake_slab_waiter() noexcept {
  if (slab_waiters_.empty()) return;
  slab_waiters_.pop_front().wake();
  const bool more = opened_->slabs.in_use() < opened_->slabs.size();
  if (more && !slab_waiters_.empty() && !slab_free_.scheduled()) home_.schedule(slab_free_);
}

}  // namespace scoll::transport::verbs
