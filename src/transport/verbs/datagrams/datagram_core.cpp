#include "transport/verbs/datagrams/datagram_core.hpp"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr nanoseconds first_pause = std::chrono::milliseconds(100);
constexpr nanoseconds longest_pause = std::chrono::seconds(2);
// The device sends what it was given within microseconds, unless it stands still.
constexpr nanoseconds linger_limit = std::chrono::milliseconds(100);
constexpr std::uint32_t queue_key_mask = 0x7fffffff;  // with the top bit, a key is the kernel's
constexpr std::size_t least_message_room = name_message_bytes;

}  // namespace

datagram_core::datagram_core(executor& home, verbs_api& api, datagram_port& under, verbs_port_options options)
    : home_(home),
      api_(api),
      under_(under),
      options_(std::move(options)),
      random_(api.seed()),
      next_pause_(first_pause),
      names_(options_.names, random_.next()) {}

datagram_core::~datagram_core() {
  SCOLL_ASSERT(!is_open(), "a datagram port died before it was closed");
  device_.reset();
}

std::size_t datagram_core::max_bytes() const noexcept {
  if (max_bytes_ != 0) return max_bytes_;
  const std::size_t least = least_datagram_mtu - datagram_header_bytes;
  return options_.max_bytes == 0 ? least : std::min(least, options_.max_bytes);
}

verbs_port_statistics datagram_core::verbs_statistics() const noexcept {
  verbs_port_statistics s = counts_;
  s.handles_now = uses_.size() - idle_uses_.size();
  return s;
}

// ---- opening

/// Once the largest datagram is known, every further device has to carry it.
datagram_device::wish datagram_core::wish_for(const std::string& host) noexcept {
  datagram_device::wish w;
  w.options = options_;
  w.host = host;
  const auto needed = static_cast<std::uint32_t>(max_bytes_ + datagram_header_bytes);
  w.least_mtu = max_bytes_ == 0 ? least_datagram_mtu : needed;
  while (w.epoch == 0) w.epoch = random_.next();
  w.queue_key = static_cast<std::uint32_t>(random_.next()) & queue_key_mask;
  return w;
}

status datagram_core::prepare(const socket_address& address) {
  if (is_open()) return error(errc::already_exists, "this port is already bound");
  if (status s = options_.validate(); !s) return s;
  socket_address any_port = address;
  if (any_port.port() == 0) any_port.set_port(1);  // the name of its host is enough
  const auto name = name_of(any_port);
  if (!name) {
    return make_error(errc::invalid_argument, "verbs://{} does not name one host, which datagrams need",
                      address.to_string());
  }
  const std::string host = to_text(name->host);
  if (device_ != nullptr && host == host_) return {};
  device_.reset();
  const bool fixed = buffers_.has_value();
  if (!fixed) max_bytes_ = 0;
  auto opened = datagram_device::open(api_, wish_for(host));
  if (!opened) return opened.error();
  host_ = host;
  if (fixed) {
    device_ = std::move(*opened);
    return {};
  }
  const std::size_t carried = (*opened)->where.mtu - datagram_header_bytes;
  max_bytes_ = options_.max_bytes == 0 ? carried : std::min(carried, options_.max_bytes);
  if (max_bytes_ < options_.max_bytes) {
    return make_error(errc::unsupported, "datagrams.max_bytes is {}, and the MTU of {} allows {}",
                      options_.max_bytes, (*opened)->name, carried);
  }
  device_ = std::move(*opened);
  return {};
}

status datagram_core::bind(const socket_address& address, datagram_events& events) {
  if (status s = prepare(address); !s) return s;
  if (under_.max_datagram_bytes() < least_message_room)
    return error(errc::invalid_argument, "the port below a verbs port carries less than 64 bytes");
  if (status s = under_.bind(address.to_string(), *this); !s) return s;
  const auto bound = socket_address::parse(under_.bound_address());
  const auto name = bound ? name_of(*bound) : std::nullopt;
  SCOLL_ASSERT(name.has_value(), "the port below a verbs port has no socket address");
  own_address_ = *bound;
  own_name_ = *name;
  bound_address_ = "verbs://" + bound->to_string();
  if (!buffers_) {
    sends_.resize(options_.send_buffers);
    free_sends_.reserve(options_.send_buffers);
    batch_.reserve(options_.send_buffers);
    const std::size_t most_handles = options_.names + std::size_t{options_.send_buffers};
    idle_uses_.reserve(most_handles);
    to_free_.reserve(most_handles);
    errand_.reserve(most_handles);
    buffers_.emplace(max_bytes_, options_.receive_buffers);
  }
  events_ = &events;
  state_ = state::open;
  next_pause_ = first_pause;
  adopt(std::move(device_));
  return {};
}

void datagram_core::adopt(std::unique_ptr<datagram_device> opened) noexcept {
  device_ = std::move(opened);
  failed_ = armed_ = false;
  posted_ = 0;
  free_sends_.resize(sends_.size());
  std::iota(free_sends_.rbegin(), free_sends_.rend(), 0);
  begin_watch();
  std::vector<std::uint32_t> all(options_.receive_slots);
  std::iota(all.begin(), all.end(), 0);
  if (!post_receives(all)) fail(EIO);
}

void datagram_core::begin_watch() noexcept {
  watching_ = true;
  device_->context->wake_on_event(event_);
  if (!step_.scheduled()) home_.schedule(step_);
}

// ---- failures

void datagram_core::on_event() noexcept {
  device_event event;
  while (device_ != nullptr && device_->context->take_event(event)) {
    const bool of_pair =
        event.kind == device_event::what::queue_pair_failed && event.queue_pair == device_->where.queue_pair;
    bool lost_address = false;
    if (event.kind == device_event::what::addresses_changed) {
      const auto still = device_->context->address(device_->port, device_->gid_index);
      lost_address = !still || still->address != device_->where.address;
    }
    if (event.kind == device_event::what::device_failed || of_pair || lost_address) fail(ENODEV);
  }
  if (device_ != nullptr && watching_ && !ending_watch_) device_->context->wake_on_event(event_);
}

/// The datagrams that are under way are lost, and the device is put away. An open port then opens it again.
void datagram_core::fail(int errno_value) noexcept {
  if (!has_device()) return;
  failed_ = true;
  statistics_.last_send_error = errno_value;
  ++counts_.device_failures;
  end_device();
}

void datagram_core::forget_all_sends() noexcept {
  batch_.clear();
  while (waiting_count_ != 0) drop(waiting_[waiting_count_ - 1]);
  for (send_slot& slot : sends_) {
    if (slot.by == nullptr) continue;
    ++statistics_.send_errors;
    slot.by = nullptr;
  }
  free_sends_.clear();
  posted_ = 0;
}

/// Where names lead is forgotten, too. Otherwise handles would be made anew for peers of which some are gone, and
/// the control thread might wait long for each of those.
void datagram_core::forget_all_handles() noexcept {
  names_.for_each([](known_name& n) {
    n.handle = nullptr;
    n.wants_handle = false;
    static_cast<list_hook<wanting_handle>&>(n).unlink();
    datagram_names::lose(n);
  });
  for (handle_use& use : uses_) {
    if (use.object != nullptr) device_->take_over(*std::exchange(use.object, nullptr));
  }
  for (address_handle* each : to_free_) device_->take_over(*each);
  to_free_.clear();
  idle_uses_.clear();
  uses_.clear();
}

// ---- the end of a device

/// One after the other: nobody waits for the device any more; nobody makes handles with it; it is put away.
void datagram_core::end_device() noexcept {
  if (linger_timer_.armed()) home_.disarm(linger_timer_);
  if (device_ == nullptr) return end_if_done();
  if (watching_) {
    if (!std::exchange(ending_watch_, true)) device_->context->stop_waking(watch_ended_);
    return;
  }
  if (errand_.under_way() || job_.under_way()) return;
  forget_all_sends();
  forget_all_handles();
  job_.begin_to_put_away(std::move(device_), api_.control());
}

void datagram_core::watch_ended() noexcept {
  watching_ = ending_watch_ = armed_ = false;
  if (step_.scheduled()) home_.unschedule(step_);
  end_device();
}

void datagram_core::reopen() noexcept {
  next_pause_ = std::min(2 * next_pause_, longest_pause);
  job_.begin_to_open(api_, wish_for(host_));
}

void datagram_core::on_device_job_done(std::unique_ptr<datagram_device> opened) noexcept {
  if (opened != nullptr && state_ == state::open) {
    next_pause_ = first_pause;
    return adopt(std::move(opened));
  }
  if (opened != nullptr) return job_.begin_to_put_away(std::move(opened), api_.control());
  if (state_ == state::open) return home_.arm(reopen_timer_, home_.now() + next_pause_);
  end_if_done();
}

// ---- closing

void datagram_core::close() noexcept {
  if (state_ != state::open) return;
  state_ = state::ending;
  events_ = nullptr;
  while (waiting_count_ != 0) drop(waiting_[waiting_count_ - 1]);
  for (auto* timer : {static_cast<timer_node*>(&waiting_timer_), static_cast<timer_node*>(&reopen_timer_)}) {
    if (timer->armed()) home_.disarm(*timer);
  }
  if (flush_.scheduled()) home_.unschedule_late(flush_);
  flush();
  under_.close();
  if (has_device() && posted_ != 0) return home_.arm(linger_timer_, home_.now() + linger_limit);
  end_device();
}

void datagram_core::end_if_done() noexcept {
  if (state_ != state::ending || device_ != nullptr || job_.under_way()) return;
  bound_address_.clear();
  state_ = state::closed;
}

}  // namespace scoll::transport::verbs
