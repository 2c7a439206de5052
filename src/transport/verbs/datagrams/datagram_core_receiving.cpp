#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "transport/io/datagram_socket.hpp"
#include "transport/verbs/datagrams/datagram_core.hpp"
#include "transport/verbs/datagrams/global_header.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t most_at_a_time = 64;  // in one step

}  // namespace

void datagram_core::on_completion() noexcept {
  armed_ = false;
  if (!step_.scheduled()) home_.schedule(step_);
}

/// Something may have completed between the last look and the arming, so it looks once more.
void datagram_core::step() noexcept {
  if (!has_device()) return;
  bool more = take_some();
  while (!more && !armed_ && has_device() && watching_ && !ending_watch_) {
    if (!device_->context->arm(device_->completions, wake_for::everything)) return fail(EIO);
    armed_ = true;
    device_->context->wake_on_completion(completion_);
    more = take_some();
  }
  if (more && !step_.scheduled()) home_.schedule(step_);
}

/// Returns true if there may be more. The places of what has arrived are posted again at the end.
bool datagram_core::take_some() noexcept {
  std::array<completion, most_at_a_time> done;
  std::array<std::uint32_t, most_at_a_time> places{};
  std::size_t emptied = 0;
  const int count = device_->context->poll(device_->completions, done);
  if (count < 0) {
    fail(ENODEV);
    return false;
  }
  for (const completion& each : std::span(done).first(static_cast<std::size_t>(count))) {
    if (each.tag >= options_.receive_slots) {
      on_sent(static_cast<std::size_t>(each.tag) - options_.receive_slots, each);
      continue;
    }
    if (each.outcome == completion::result::success) {
      take_received(each);
      places[emptied++] = static_cast<std::uint32_t>(each.tag);
    } else {
      ++statistics_.receive_errors;
      fail(EIO);
    }
  }
  if (has_device() && !post_receives(std::span(places).first(emptied))) fail(EIO);
  return has_device() && count == static_cast<int>(most_at_a_time);
}

bool datagram_core::post_receives(std::span<const std::uint32_t> slots) noexcept {
  std::array<receive_request, most_at_a_time> requests;
  for (std::size_t begin = 0; begin < slots.size();) {
    const std::size_t count = std::min(requests.size(), slots.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = device_->receive_slot(slots[begin + i]);
      requests[i] = {slots[begin + i], place.data(), static_cast<std::uint32_t>(place.size()),
                     device_->memory_key};
    }
    const auto wanted = std::span<const receive_request>(requests).first(count);
    if (device_->context->post(device_->receives, wanted) != count) return false;
    begin += count;
  }
  return true;
}

void datagram_core::take_received(const completion& done) noexcept {
  if (events_ == nullptr) return;
  const auto place = device_->receive_slot(static_cast<std::size_t>(done.tag));
  const std::size_t size = std::min<std::size_t>(done.bytes, place.size());
  const bool whole = done.has_global_header && size >= global_header_bytes + datagram_header_bytes;
  const auto source = whole ? source_of(place.first<global_header_bytes>()) : std::nullopt;
  const auto said = place.first(size).subspan(whole ? global_header_bytes : 0);
  const auto header = whole ? read_header(said) : std::nullopt;
  if (!source || !header || header->port == 0) {
    ++counts_.malformed;
    return;
  }
  if (judge(*header, *source, done.source_pair))
    deliver({header->host, header->port}, said.subspan(datagram_header_bytes));
}

/// True if the datagram is to be delivered. A peer that has been restarted is asked at once where it is now.
bool datagram_core::judge(const datagram_header& header, const gid& source,
                          std::uint32_t queue_pair) noexcept {
  const datagram_name name{header.host, header.port};
  switch (names_.heard(name, header.epoch, source, queue_pair)) {
    case datagram_names::origin::right: return true;
    case datagram_names::origin::restarted:
      ++counts_.restarts;
      ask_if_due(*names_.find(name));
      return true;
    case datagram_names::origin::late: ++counts_.late; return false;
    case datagram_names::origin::forged: ++counts_.forged; return false;
    case datagram_names::origin::unproven: ++counts_.unproven; return false;
  }
  return false;
}

/// The owner may keep the bytes, and the place is needed again, so it gets a copy.
void datagram_core::deliver(const datagram_name& from, std::span<const std::byte> payload) noexcept {
  if (payload.size() > max_bytes_) {
    ++statistics_.truncated;
    return;
  }
  const buffer_ref buffer = buffers_->try_acquire();
  if (!buffer) {
    ++statistics_.dropped;
    return;
  }
  if (!payload.empty()) std::memcpy(buffer.data(), payload.data(), payload.size());
  ++statistics_.received;
  statistics_.received_bytes += payload.size();
  const buffer_view bytes{buffer, {buffer.data(), payload.size()}};
  events_->on_datagram(to_datagram(address_of(from, own_address_)), bytes);
}

// ---- names

void datagram_core::on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept {
  if (state_ != state::open) return;
  const auto said = read_name_message(bytes.bytes);
  if (!said) {
    ++counts_.malformed;
  } else if (said->kind == name_message::what::question) {
    answer(source, said->nonce);
  } else {
    learn(source, *said);
  }
}

void datagram_core::answer(const datagram_address& to, std::uint64_t nonce) noexcept {
  if (!has_device()) return;
  const auto bytes = encoded({.kind = name_message::what::answer, .nonce = nonce, .where = device_->where});
  if (under_.send(to, bytes)) ++counts_.answered;
}

void datagram_core::learn(const datagram_address& source, const name_message& said) noexcept {
  const auto name = name_of(to_socket(source));
  known_name* const known = name ? names_.find(*name) : nullptr;
  if (known == nullptr || !has_device()) return;
  const auto news = datagram_names::answered(*known, said.nonce, said.where);
  if (news == datagram_names::answer::ignored) return;
  ++counts_.answers;
  if (news == datagram_names::answer::moved || waiting_for(*known) != nullptr) now_leads(*known);
}

}  // namespace scoll::transport::verbs
