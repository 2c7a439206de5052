#include "transport/verbs/queue_pair.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/verbs/device.hpp"

namespace scoll::transport::verbs {

queue_pair::queue_pair(device& owner, queue_pair_events& events, gate_pass open) noexcept
    : device_pair(owner, std::move(open), owner.queue_pair_wanted()), events_(&events) {
  make();
}

introduction queue_pair::introduce(std::uint32_t link) const {
  introduction said = device_.introduce();
  said.link = link;
  said.queue_pair = number();
  said.first_packet = first_packet();
  said.slots = least_slots;
  return said;
}

void queue_pair::connect(const introduction& peer) noexcept {
  const bool possible = sending_.learn(peer.slots);
  SCOLL_ASSERT(possible, "a promise was not checked");
  device_pair::connect(device_.path_to(peer));
}

void queue_pair::release() noexcept {
  events_ = nullptr;
  failed_ = true;  // it is destroyed on another thread
  list_hook<touched_list>::unlink();
  list_hook<slab_waiters>::unlink();
  drop_unposted(0);
  begin_end();
}

void queue_pair::on_destroyed() noexcept {
  settle_until(next_);
  device_.leave(*this);
}

void queue_pair::fail(const error& reason) noexcept {
  if (std::exchange(failed_, true) || events_ == nullptr) return;
  events_->on_failed(reason);
}

// ---- sending

bool queue_pair::can_send() const noexcept {
  return is_connected() && !failed_ && sending_.allows_data() && under_way() < sends_per_pair;
}

std::uint32_t queue_pair::next_news(std::uint32_t given_back) noexcept {
  sending_.use(1 + given_back);
  return slot_news{receiving_.tell(), given_back}.pack();
}

void queue_pair::append(slab* from, std::size_t size, std::uint32_t immediate) noexcept {
  SCOLL_ASSERT(events_ != nullptr, "a queue pair that is being destroyed sends nothing");
  send_request& r = batch_[batched_++];
  r = {.tag = tag_of(next_), .size = static_cast<std::uint32_t>(size), .immediate = immediate};
  if (from != nullptr) {
    r.data = from->memory.bytes.data();
    r.local_key = from->memory.local_key;
    r.inlined = size <= object_->inline_bytes;
  }
  ring_[next_ % ring_size] = {from, r.size};
  ++next_;
  sent_lately_ = true;
}

void queue_pair::push(slab& from, std::size_t size) noexcept {
  append(&from, size, next_news(0));
  if (batched_ == batch_.size()) post();
}

void queue_pair::post() noexcept {
  if (batched_ == 0) return;
  batch_[batched_ - 1].signalled = true;
  for (std::size_t i = 0;
       i < batched_ &&
       SCOLL_MUTANT(verbs_slab_free_when_posted, "what was posted may be overwritten before it is sent");
       ++i) {
    sent& early = ring_[(next_ - batched_ + i) % ring_size];
    if (early.from != nullptr) device_.give_slab(*std::exchange(early.from, nullptr));
  }
  const std::size_t posted = failed_ ? 0 : device_.context().post(object_, std::span(batch_).first(batched_));
  device_.sends_posted(static_cast<std::uint32_t>(posted));
  const bool all = posted == batched_;
  drop_unposted(posted);
  if (!all && !SCOLL_MUTANT(verbs_refused_sends_lost, "messages that the device has refused are forgotten"))
    fail({errc::connection_lost, "the device takes no more of this connection"});
}

/// What the device does not know of will not complete.
void queue_pair::drop_unposted(std::size_t posted) noexcept {
  for (; batched_ > posted; --batched_) {
    sent& last = ring_[--next_ % ring_size];
    if (last.from != nullptr) device_.give_slab(*last.from);
    last = {};
  }
  batched_ = 0;
}

void queue_pair::send_empty(std::uint32_t given_back) noexcept {
  post();
  if (failed_) return;
  append(nullptr, 0, next_news(given_back));
  post();
}

void queue_pair::greet() noexcept {
  send_empty(0);
}

void queue_pair::tell_news() noexcept {
  const bool room = under_way() < sends_per_pair + news_per_pair;
  if (!is_connected() || failed_ || !has_news() || !sending_.allows_news() || !room) return;
  const bool idle_so_far = !sent_lately_;
  send_empty(0);
  if (idle_so_far) sent_lately_ = false;  // promises alone are no use of the peer's places
}

void queue_pair::give_back_if_idle() noexcept {
  if (std::exchange(sent_lately_, false) || failed_ || !has_surplus() || !idle()) return;
  const std::uint32_t most = sending_.left() - 1 - least_slots;
  if (most != 0) send_empty(std::min(most, slot_news::most_given_back));
  sent_lately_ = false;
}

void queue_pair::on_posted_done(const completion& done) noexcept {
  const std::uint32_t index = index_in(done);
  if (index - first_ >= under_way()) return;
  settle_until(index + 1);
  if (done.outcome != completion::result::success) return fail(failure_of(done));
  if (has_news()) device_.touch(*this);
  wake();
}

void queue_pair::settle_until(std::uint32_t end) noexcept {
  device_.sends_over(end - first_);
  for (; first_ != end; ++first_) {
    sent& done = ring_[first_ % ring_size];
    acknowledged_bytes_ += done.bytes;
    if (done.from != nullptr) device_.give_slab(*done.from);
    done = {};
  }
}

// ---- receiving

void queue_pair::on_received(const buffer_ref& owner, std::span<const std::byte> bytes,
                             std::uint32_t immediate) noexcept {
  if (events_ == nullptr || failed_) return;
  const slot_news news = slot_news::unpack(immediate);
  const std::uint32_t window = receiving_.window();
  if (!receiving_.arrived(news.given_back))
    return fail({errc::malformed, "verbs: the peer sends more than it was promised places for"});
  device_.give_back(window - receiving_.window());
  const std::uint32_t before = sending_.left();
  if (!sending_.learn(news.promised))
    return fail({errc::malformed, "verbs: the peer promises an impossible number of places"});
  const bool more = sending_.left() > before;
  device_.touch(*this);
  events_->on_arrival(owner, bytes);
  if (more) wake();
}

void queue_pair::on_receive_failed(const completion& done) noexcept {
  fail(failure_of(done));
}

void queue_pair::renew() noexcept {
  if (receiving_.wants_growth()) receiving_.grow(device_.grow(receiving_.window()));
  receiving_.renew();
}

}  // namespace scoll::transport::verbs
