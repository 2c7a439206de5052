#include "transport/verbs/device.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/verbs/device_checks.hpp"

namespace scoll::transport::verbs {
namespace {

// A port that is down for less is not noticed: retries bridge it.
constexpr nanoseconds port_patience = std::chrono::milliseconds(20);

}  // namespace

/// Opens a device, or destroys one, where blocking is allowed.
class device::opening_job final : public control_job {
 public:
  explicit opening_job(device& owner) noexcept : owner_(owner), pass_(owner.pass()) {}
  ~opening_job() = default;

  std::unique_ptr<opened_device> old;
  std::unique_ptr<registrar::renewal> memory;  // to be registered with the new one

 private:
  void perform() noexcept override {
    closing_ = old != nullptr;
    old.reset();
    if (closing_) return;
    made_ = opened_device::open(owner_.api_, owner_.options_, owner_.host_);
    if (made_) memory->perform(*(*made_)->context);
  }
  void on_done() noexcept override {
    device& owner = owner_;
    auto made = std::move(made_);
    const std::unique_ptr<opening_job> self = std::move(owner.job_);
    if (!closing_) return owner.opened(std::move(made), std::move(memory));
    owner.state_ = state::closed;
    if (!owner.waiters_.empty()) owner.submit_opening();
  }

  device& owner_;
  gate_pass pass_;
  bool closing_ = false;
  result<std::unique_ptr<opened_device>> made_ = error(errc::closed);
};

device::device(executor& home, verbs_api& api, const verbs_options& options, gate& open) noexcept
    : home_(home),
      api_(api),
      options_(options),
      open_(open),
      random_(api.seed()),
      copies_(slot_bytes, options.frame_buffers),
      budget_(options.receive_slots) {}

device::~device() {
  SCOLL_ASSERT(pairs_.empty() && job_ == nullptr && !watching_, "a device died before its links");
  for (auto* node : {static_cast<ready_node*>(&step_), static_cast<ready_node*>(&refill_),
                     static_cast<ready_node*>(&told_), static_cast<ready_node*>(&slab_free_)}) {
    if (node->scheduled()) home_.unschedule(*node);
  }
  if (end_of_turn_.scheduled()) home_.unschedule_late(end_of_turn_);
  if (look_timer_.armed()) home_.disarm(look_timer_);
  if (idle_timer_.armed()) home_.disarm(idle_timer_);
  if (port_timer_.armed()) home_.disarm(port_timer_);
  if (opened_ != nullptr) registrar_.leave_to(*opened_);
}

// ---- opening

void device::await(device_waiter& waiter) noexcept {
  waiters_.push_back(waiter);
  if (state_ == state::closed) return submit_opening();
  if (state_ == state::open && !told_.scheduled()) home_.schedule(told_);
}

void device::submit_opening() noexcept {
  state_ = state::opening;
  job_ = std::make_unique<opening_job>(*this);
  job_->memory = registrar_.begin_renewal();
  control().submit(*job_);
}

void device::opened(result<std::unique_ptr<opened_device>> made,
                    std::unique_ptr<registrar::renewal> memory) noexcept {
  opening_ = made ? status{} : status(made.error());
  state_ = made ? state::open : state::closed;
  if (made) {
    opened_ = std::move(*made);
    opened_->slots->on_refill(&slot_returned, this);
    posted_ = 0;
    armed_ = wake_for::nothing;
    refill();
  }
  registrar_.end_renewal(std::move(memory), opening_);  // it may need the device
  tell_waiters();
}

void device::tell_waiters() noexcept {
  const status outcome = opening_;
  intrusive_list<device_waiter, device_waiter> now;
  now.splice(waiters_);
  while (!now.empty()) now.pop_front().on_device(outcome);
}

status device::admit() noexcept {
  if (state_ != state::open) return error(errc::unreachable, "verbs: the device is not open");
  if (budget_.admit()) return {};
  return make_error(errc::busy, "verbs: no places for another link: verbs.receive_slots is {}",
                    options_.receive_slots);
}

// ---- waiting for completions and events

void device::begin_watch() noexcept {
  if (watching_ || opened_ == nullptr) return;
  watching_ = true;
  watch_ = open_.pass();
  opened_->context->wake_on_event(event_);
  if (!step_.scheduled()) home_.schedule(step_);
}

void device::end_watch_if_unused() noexcept {
  if (!watching_ || ending_watch_ || !pairs_.empty()) return;
  ending_watch_ = true;
  opened_->context->stop_waking(watch_ended_);
}

void device::watch_ended() noexcept {
  ending_watch_ = watching_ = false;
  armed_ = wake_for::nothing;
  if (step_.scheduled()) home_.unschedule(step_);
  const gate_pass last = std::move(watch_);
  if (!pairs_.empty()) return begin_watch();
  close_if_failed();
}

// ---- failures

void device::on_event() noexcept {
  device_event event;
  while (opened_->context->take_event(event)) handle(event);
  if (watching_ && !ending_watch_) opened_->context->wake_on_event(event_);
}

void device::handle(const device_event& event) noexcept {
  switch (event.kind) {
    case device_event::what::port_down:
      if (event.port == options_.port && !port_timer_.armed())
        home_.arm(port_timer_, home_.now() + port_patience);
      return;
    case device_event::what::port_up:
      if (event.port == options_.port && port_timer_.armed()) home_.disarm(port_timer_);
      return;
    case device_event::what::addresses_changed: {
      const auto still = opened_->context->address(options_.port, opened_->gid_index);
      if (still && still->address == opened_->address) return;
      return fail(make_error(errc::connection_lost, "the port of {} has lost its address", opened_->name));
    }
    case device_event::what::queue_pair_failed: {
      const auto found = by_number_.find(event.queue_pair);
      if (found != by_number_.end())
        found->second->fail({errc::connection_lost, "the device says that the queue pair has failed"});
      return;
    }
    case device_event::what::device_failed:
      return fail(make_error(errc::connection_lost, "the device {} has failed", opened_->name));
  }
}

void device::port_stayed_down() noexcept {
  break_all(make_error(errc::connection_lost, "port {} of {} is down", options_.port, opened_->name));
}

void device::break_all(const error& reason) noexcept {
  for (device_pair* p = pairs_.first(); p != nullptr; p = pairs_.next(*p)) p->fail(reason);
}

/// All links end; then it can be opened again.
void device::fail(const error& reason) noexcept {
  if (state_ != state::open) return;
  state_ = state::failing;
  opening_ = reason;
  break_all(reason);
  close_if_failed();
}

void device::close_if_failed() noexcept {
  if (state_ != state::failing || !pairs_.empty() || watching_ || registrar_.busy()) return;
  if (SCOLL_MUTANT(verbs_device_stays_closed, "a device that has failed is not opened again")) return;
  state_ = state::closing;
  registrar_.leave_to(*opened_);
  opened_->forget_slots();
  if (port_timer_.armed()) home_.disarm(port_timer_);
  if (refill_.scheduled()) home_.unschedule(refill_);
  job_ = std::make_unique<opening_job>(*this);
  job_->old = std::move(opened_);
  control().submit(*job_);
}

// ---- queue pairs

queue_pair_request device::queue_pair_wanted() const noexcept {
  return {.completions = opened_->completions,
          .receives = opened_->receives,
          .sends = sends_per_pair + news_per_pair,
          .inline_bytes = inline_bytes};
}

queue_pair_request device::read_pair_wanted() const noexcept {
  return {.completions = opened_->completions,
          .sends = read_requests(options_),
          .serves_reads = true,
          .windows = options_.windows};
}

std::uint32_t device::read_bytes() const noexcept {
  return std::max(1U, std::min(options_.read_bytes, opened_->port.max_message_bytes));
}

introduction device::introduce() const {
  introduction said;
  said.service_level = options_.service_level;
  said.address = opened_->address;
  said.lid = opened_->port.lid;
  said.read_depth = std::min(opened_->limits.reads_in, options_.read_depth);
  said.mtu = opened_->port.mtu;
  said.device = opened_->name.substr(0, max_device_name_bytes);
  return said;
}

path_request device::path_to(const introduction& peer) const noexcept {
  return {.port = options_.port,
          .remote = peer.address,
          .remote_lid = peer.lid,
          .remote_queue_pair = peer.queue_pair,
          .remote_packet = peer.first_packet,
          .gid_index = opened_->gid_index,
          .mtu = std::min(peer.mtu, opened_->port.mtu),
          .service_level = options_.service_level,
          .traffic_class = options_.traffic_class,
          .timeout = options_.timeout,
          .retry_count = options_.retry_count,
          .rnr_retry = options_.rnr_retry};
}

void device::enter(device_pair& pair) noexcept {
  pairs_.push_back(pair);
  begin_watch();
}

void device::list(device_pair& pair) noexcept {
  by_number_[pair.number()] = &pair;
}

/// The queue pair is destroyed. What it has completed is all in the queue, and is taken while the number is still
/// its own: it may be that of another one already.
void device::unlist(const device_pair& pair) noexcept {
  drain();
  const auto its = by_number_.find(pair.number());
  if (its != by_number_.end() && its->second == &pair) by_number_.erase(its);
}

void device::leave(device_pair& pair) noexcept {
  if (queue_pair* const own = pair.for_messages()) budget_.give_back(own->window());
  delete &pair;
  end_watch_if_unused();
  close_if_failed();
}

}  // namespace scoll::transport::verbs
