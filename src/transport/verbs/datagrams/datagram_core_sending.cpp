#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/io/datagram_socket.hpp"
#include "transport/verbs/datagrams/datagram_core.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr nanoseconds waiting_limit = std::chrono::seconds(1);

}  // namespace

status datagram_core::send(const datagram_address& to, std::span<const std::byte> bytes) noexcept {
  if (state_ != state::open) return error(errc::closed, "the datagram port is not bound");
  if (bytes.size() > max_bytes_)
    return make_error(errc::too_large, "a datagram of {} bytes, the limit is {}", bytes.size(), max_bytes_);
  const auto name = name_of(to_socket(to));
  if (!name) return error(errc::invalid_argument, "not the address of a port of datagrams");
  if (!has_device()) {
    ++statistics_.send_errors;
    statistics_.last_send_error = ENODEV;
    return {};
  }
  known_name& known = enter(*name);
  ask_if_due(known);
  if (status s = check_room(known, bytes.size()); !s) return s;
  if (!known.leads_somewhere() || known.handle == nullptr) return wait(known, bytes);
  const auto slot = take_slot();
  if (!slot) {
    ++statistics_.busy;
    return make_error(errc::busy, "all datagram buffers are on their way out: send_buffers is {}",
                      options_.send_buffers);
  }
  push(known, *slot, fill(*slot, bytes));
  return {};
}

/// The peer's device would drop what is longer than its MTU, and nobody would be told.
status datagram_core::check_room(const known_name& name, std::size_t bytes) const noexcept {
  if (!name.where || bytes + datagram_header_bytes <= name.where->mtu) return {};
  return make_error(errc::too_large,
                    "a datagram of {} bytes, and the MTU of {} is {}: raise it, or set max_bytes", bytes,
                    address_of(name.name, own_address_).to_string(), name.where->mtu);
}

// ---- names

known_name& datagram_core::enter(const datagram_name& name) noexcept {
  known_name* known = names_.find(name);
  if (known == nullptr) {
    if (known_name* const old = names_.in_the_way()) forget(*old);
    return names_.add(name);
  }
  names_.touch(*known);
  return *known;
}

void datagram_core::forget(known_name& name) noexcept {
  if (waiting_datagram* const w = waiting_for(name)) drop(*w);
  drop_handle(name);
  static_cast<list_hook<wanting_handle>&>(name).unlink();
  names_.remove(name);
}

void datagram_core::ask_if_due(known_name& name) noexcept {
  if (!datagram_names::is_to_be_asked(name, home_.now())) return;
  const name_message question{.nonce = names_.ask(name, home_.now())};
  const auto bytes = encoded(question);
  if (under_.send(to_datagram(address_of(name.name, own_address_)), bytes)) ++counts_.questions;
}

/// Its datagrams can leave, or need a handle first. Handles are kept as long as they lead to the same port.
void datagram_core::now_leads(known_name& name) noexcept {
  const bool other_port = name.handle != nullptr && (name.handle->address != name.where->address ||
                                                     name.handle->lid != name.where->lid);
  if (other_port) drop_handle(name);
  if (name.handle == nullptr) {
    if (!std::exchange(name.wants_handle, true)) wanting_.push_back(name);
    return begin_errand();
  }
  waiting_datagram* const w = waiting_for(name);
  if (w == nullptr) return;
  const waiting_datagram found = *w;
  *w = waiting_[--waiting_count_];
  if (check_room(name, found.bytes - datagram_header_bytes)) return push(name, found.slot, found.bytes);
  ++statistics_.send_errors;
  statistics_.last_send_error = EMSGSIZE;
  free_sends_.push_back(found.slot);
}

// ---- datagrams that wait

std::optional<std::uint32_t> datagram_core::take_slot() noexcept {
  if (free_sends_.empty()) return std::nullopt;
  const std::uint32_t slot = free_sends_.back();
  free_sends_.pop_back();
  return slot;
}

/// Returns how many bytes the datagram has, with its header.
std::uint32_t datagram_core::fill(std::uint32_t slot, std::span<const std::byte> bytes) noexcept {
  const auto place = device_->send_slot(slot);
  write_header(place.first<datagram_header_bytes>(),
               {.port = own_name_.port, .host = own_name_.host, .epoch = device_->where.epoch});
  if (!bytes.empty()) std::memcpy(place.data() + datagram_header_bytes, bytes.data(), bytes.size());
  return static_cast<std::uint32_t>(datagram_header_bytes + bytes.size());
}

status datagram_core::wait(known_name& name, std::span<const std::byte> bytes) noexcept {
  if (waiting_datagram* const w = waiting_for(name)) {
    w->bytes = fill(w->slot, bytes);
    return {};
  }
  const auto slot = waiting_count_ == most_waiting ? std::nullopt : take_slot();
  if (!slot) {
    ++statistics_.busy;
    return make_error(errc::busy, "{} datagrams wait until it is known where their addresses lead",
                      waiting_count_);
  }
  waiting_[waiting_count_++] = {&name, *slot, fill(*slot, bytes), home_.now()};
  if (name.leads_somewhere()) now_leads(name);
  if (!waiting_timer_.armed()) home_.arm(waiting_timer_, home_.now() + datagram_names::least_pause);
  return {};
}

datagram_core::waiting_datagram* datagram_core::waiting_for(const known_name& name) noexcept {
  const auto waiting = std::span(waiting_).first(waiting_count_);
  const auto found =
      std::find_if(waiting.begin(), waiting.end(), [&](const waiting_datagram& w) { return w.to == &name; });
  return found == waiting.end() ? nullptr : &*found;
}

void datagram_core::drop(waiting_datagram& w) noexcept {
  ++counts_.never_known;
  ++statistics_.send_errors;
  statistics_.last_send_error = EHOSTUNREACH;
  free_sends_.push_back(w.slot);
  w = waiting_[--waiting_count_];
}

void datagram_core::look_after_waiting() noexcept {
  for (std::size_t i = waiting_count_; i-- != 0;) {
    if (home_.now() - waiting_[i].since >= waiting_limit) {
      drop(waiting_[i]);
    } else {
      ask_if_due(*waiting_[i].to);
    }
  }
  if (waiting_count_ != 0) home_.arm(waiting_timer_, home_.now() + datagram_names::least_pause);
}

// ---- datagrams that leave

void datagram_core::push(known_name& name, std::uint32_t index, std::uint32_t bytes) noexcept {
  send_slot& slot = sends_[index];
  slot.by = name.handle;
  ++name.handle->sends;
  slot.request = {.tag = std::uint64_t{options_.receive_slots} + index,
                  .data = device_->send_slot(index).data(),
                  .size = bytes,
                  .local_key = device_->memory_key,
                  .to = name.handle->object,
                  .queue_pair = name.where->queue_pair,
                  .queue_key = name.where->queue_key,
                  .inlined = bytes <= device_->pair->inline_bytes};
  batch_.push_back(index);
  datagram_names::sent(name);
  if (!flush_.scheduled()) home_.schedule_late(flush_);
}

void datagram_core::flush() noexcept {
  std::array<datagram_request, most_posted> requests;
  for (std::size_t begin = 0; begin < batch_.size() && has_device();) {
    const std::size_t count = std::min(requests.size(), batch_.size() - begin);
    for (std::size_t i = 0; i < count; ++i) requests[i] = sends_[batch_[begin + i]].request;
    const std::size_t posted =
        device_->context->post(device_->pair, std::span<const datagram_request>(requests).first(count));
    posted_ += posted;
    begin += posted;
    if (posted < count) fail(EIO);
  }
  batch_.clear();
}

void datagram_core::on_sent(std::size_t index, const completion& done) noexcept {
  if (index >= sends_.size() || sends_[index].by == nullptr) return;
  send_slot& slot = sends_[index];
  --posted_;
  if (done.outcome == completion::result::success) {
    ++statistics_.sent;
    statistics_.sent_bytes += slot.request.size - datagram_header_bytes;
  } else {
    ++statistics_.send_errors;
  }
  release(slot);
  free_sends_.push_back(static_cast<std::uint32_t>(index));
  if (done.outcome != completion::result::success) return fail(EIO);
  if (state_ == state::ending && posted_ == 0) end_device();
}

void datagram_core::release(send_slot& slot) noexcept {
  handle_use& use = *std::exchange(slot.by, nullptr);
  --use.sends;
  if (use.dropped && use.sends == 0) retire(use);
}

// ---- handles

void datagram_core::drop_handle(known_name& name) noexcept {
  handle_use* const use = std::exchange(name.handle, nullptr);
  if (use == nullptr) return;
  use->dropped = true;
  if (use->sends == 0) retire(*use);
}

void datagram_core::retire(handle_use& use) noexcept {
  to_free_.push_back(use.object);
  use = {};
  idle_uses_.push_back(&use);
  begin_errand();
}

void datagram_core::begin_errand() noexcept {
  if (errand_.under_way() || !has_device() || state_ != state::open) return;
  errand_.free(to_free_);
  while (!errand_.full() && !wanting_.empty()) {
    known_name& name = wanting_.pop_front();
    if (name.leads_somewhere() && name.handle == nullptr) {
      errand_.make(name.name, device_->way_to(*name.where));
    } else {
      name.wants_handle = false;
    }
  }
  if (!errand_.empty()) errand_.begin(*device_->context, api_.control());
}

void datagram_core::on_errand_done() noexcept {
  for (const handle_errand::making& each : errand_.made()) {
    known_name* const name = names_.find(each.name);
    const bool waits_again = name != nullptr && static_cast<list_hook<wanting_handle>&>(*name).linked();
    if (name != nullptr && !waits_again) name->wants_handle = false;
    if (each.made == nullptr) continue;
    ++counts_.handles;
    const bool wanted = has_device() && name != nullptr && name->leads_somewhere() &&
                        name->handle == nullptr && name->where->address == each.to.remote &&
                        name->where->lid == each.to.remote_lid;
    if (wanted) {
      attach(*name, each);
    } else {
      to_free_.push_back(each.made);
    }
  }
  errand_.finish();
  if (has_device() && state_ == state::open) return begin_errand();
  if (!linger_timer_.armed()) end_device();
}

void datagram_core::attach(known_name& name, const handle_errand::making& made) noexcept {
  if (idle_uses_.empty()) idle_uses_.push_back(&uses_.emplace_back());
  handle_use& use = *idle_uses_.back();
  idle_uses_.pop_back();
  use = {.object = made.made, .address = made.to.remote, .lid = made.to.remote_lid};
  name.handle = &use;
  now_leads(name);
}

}  // namespace scoll::transport::verbs
