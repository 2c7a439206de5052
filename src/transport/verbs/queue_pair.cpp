#include "transport/verbs/queue_pair.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/device.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::uint32_t packet_mask = (1U << 24U) - 1;

std::uint64_t tag_of(std::uint32_t generation, std::uint32_t number) noexcept {
  return (std::uint64_t{generation} << 32U) | number;
}

error failure_of(const completion& done) noexcept {
  switch (done.outcome) {
    case completion::result::retries_exceeded:
      return {errc::connection_lost, "the peer's RDMA port does not answer"};
    case completion::result::receiver_not_ready:
      return {errc::connection_lost, "the peer had no place for what was sent"};
    case completion::result::flushed: return {errc::connection_lost, "the queue pair has failed"};
    default:
      return make_error(errc::connection_lost, "the queue pair has failed (vendor error {})",
                        done.vendor_error);
  }
}

}  // namespace

queue_pair::queue_pair(device& owner, queue_pair_events& events, gate_pass open) noexcept
    : device_(owner),
      events_(&events),
      open_(std::move(open)),
      generation_(owner.next_generation()),
      first_packet_(owner.random_number() & packet_mask) {
  device_.enter(*this);
  begin(work::make);
}

// ---- calls that block

void queue_pair::begin(work what) noexcept {
  doing_ = what;
  device_.control().submit(*this);
}

void queue_pair::perform() noexcept {
  device_context& context = device_.context();
  switch (doing_) {
    case work::make: {
      const auto made = context.make_queue_pair(device_.queue_pair_wanted(), device_.port_number());
      if (made) object_ = *made;
      outcome_ = made ? status{} : status(made.error());
      return;
    }
    case work::connect: outcome_ = context.connect(object_, path_); return;
    case work::destroy: context.destroy(object_); return;
    case work::none: return;
  }
}

void queue_pair::on_done() noexcept {
  const work done = std::exchange(doing_, work::none);
  if (done == work::make && object_ != nullptr) {
    number_ = object_->number;
    device_.list(*this);
  }
  if (done == work::destroy) {
    settle_until(next_);
    return device_.retire(*this);
  }
  if (released_) return object_ != nullptr ? begin(work::destroy) : device_.leave(*this);
  const status outcome = outcome_;
  if (done == work::make) return events_->on_made(outcome);
  connected_ = static_cast<bool>(outcome);
  events_->on_connected(outcome);
}

introduction queue_pair::introduce(std::uint32_t link) const {
  introduction said = device_.introduce();
  said.link = link;
  said.queue_pair = number_;
  said.first_packet = first_packet_;
  said.slots = least_slots;
  return said;
}

void queue_pair::connect(const introduction& peer) noexcept {
  path_ = device_.path_to(peer);
  path_.own_packet = first_packet_;
  const bool possible = sending_.learn(peer.slots);
  SCOLL_ASSERT(possible, "a promise was not checked");
  begin(work::connect);
}

void queue_pair::release() noexcept {
  events_ = nullptr;
  released_ = true;
  list_hook<touched_list>::unlink();
  list_hook<slab_waiters>::unlink();
  drop_unposted(0);
  if (doing_ != work::none) return;
  object_ != nullptr ? begin(work::destroy) : device_.leave(*this);
}

void queue_pair::fail(const error& reason) noexcept {
  if (std::exchange(failed_, true) || events_ == nullptr) return;
  events_->on_failed(reason);
}

// ---- sending

bool queue_pair::can_send() const noexcept {
  return connected_ && !failed_ && sending_.allows_data() && under_way() < sends_per_pair;
}

std::uint32_t queue_pair::next_news(std::uint32_t given_back) noexcept {
  sending_.use(1 + given_back);
  return slot_news{receiving_.tell(), given_back}.pack();
}

void queue_pair::append(slab* from, std::size_t size, std::uint32_t immediate) noexcept {
  send_request& r = batch_[batched_++];
  r = {.tag = tag_of(generation_, next_), .size = static_cast<std::uint32_t>(size), .immediate = immediate};
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
  const std::size_t posted = failed_ ? 0 : device_.context().post(object_, std::span(batch_).first(batched_));
  const bool all = posted == batched_;
  drop_unposted(posted);
  if (!all) fail({errc::connection_lost, "the device takes no more of this connection"});
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
  if (!connected_ || failed_ || !has_news() || !sending_.allows_news() || !room) return;
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

void queue_pair::on_sent(const completion& done) noexcept {
  const auto generation = static_cast<std::uint32_t>(done.tag >> 32U);
  const auto number = static_cast<std::uint32_t>(done.tag);
  if (generation != generation_ || number - first_ >= under_way()) return;
  settle_until(number + 1);
  if (done.outcome != completion::result::success) return fail(failure_of(done));
  if (has_news()) device_.touch(*this);
  wake();
}

void queue_pair::settle_until(std::uint32_t end) noexcept {
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
