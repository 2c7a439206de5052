#include "gossip/message.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "gossip/liveness/merge.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::gossip {
namespace {

using wire::detail::load_little;
using wire::detail::store_little;

constexpr unsigned flag_in_full = 1;
constexpr unsigned flag_obsolete = 2;
constexpr unsigned flag_asks = 4;
constexpr unsigned flag_established = 8;
constexpr unsigned flag_objects = 16;
constexpr unsigned all_flags = 31;

enum form : std::uint8_t { form_none = 0, form_dense = 1, form_bitmap = 2 };

constexpr std::uint64_t latest_clock = std::uint64_t{1} << 62;  // arithmetic with it does not wrap

constexpr std::size_t sender_at = 8;  // after magic number, version, kind and flags

/// The first version whose heads have ids.
constexpr std::uint16_t first_with_ids = 2;

constexpr std::size_t bitmap_bytes(std::size_t entries) noexcept {
  return (entries + 7) / 8;
}

/// Takes bytes off the front. If there are too few, it has failed from then on.
class reader {
 public:
  explicit reader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <class T>
  T take() noexcept {
    const auto from = bytes(sizeof(T));
    return from.empty() ? T{} : load_little<T>(from.data());
  }
  std::span<const std::byte> bytes(std::size_t count) noexcept {
    if (failed_ || bytes_.size() < count) {
      failed_ = true;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  bool failed() const noexcept { return failed_; }
  bool at_end() const noexcept { return !failed_ && bytes_.empty(); }

 private:
  std::span<const std::byte> bytes_;
  bool failed_ = false;
};

claim take_claim(reader& r, std::uint16_t version) noexcept {
  claim c;
  c.version = version;
  c.interval_ms = r.take<std::uint32_t>();
  c.participants = r.take<std::uint32_t>();
  const auto list = r.bytes(c.list.size());
  std::copy(list.begin(), list.end(), c.list.begin());
  return c;
}

std::size_t bits_set(std::span<const std::byte> bitmap) noexcept {
  std::size_t count = 0;
  for (const std::byte b : bitmap)
    count += static_cast<std::size_t>(std::popcount(std::to_integer<unsigned>(b)));
  return count;
}

bool take_entries(reader& r, message_view& m, std::uint32_t participants) noexcept {
  m.part.first = r.take<std::uint32_t>();
  m.part.count = r.take<std::uint32_t>();
  const auto form = r.take<std::uint8_t>();
  const auto padding = r.bytes(3);
  if (r.failed() ||
      std::any_of(padding.begin(), padding.end(), [](std::byte b) { return b != std::byte{0}; }))
    return false;
  if (m.part.first > participants || m.part.count > participants - m.part.first) return false;
  if (form == form_none) return m.part.count == 0 && m.part.first == 0;
  m.dense = form == form_dense;
  if (m.dense) {
    m.entries = r.bytes(m.part.count);
    return !r.failed();
  }
  if (form != form_bitmap) return false;
  reader counting = r;
  const auto bitmap = counting.bytes(bitmap_bytes(m.part.count));
  const unsigned beyond = m.part.count % 8;
  if (beyond != 0 && !bitmap.empty() && std::to_integer<unsigned>(bitmap.back()) >> beyond != 0) return false;
  m.entries = r.bytes(bitmap_bytes(m.part.count) + bits_set(bitmap));
  return !r.failed();
}

bool take_lives(reader& r, message_view& m, std::uint32_t participants) noexcept {
  const auto count = r.take<std::uint16_t>();
  if (r.take<std::uint16_t>() != 0 || count > incarnations::most_told) return false;
  m.lives = r.bytes(count * message_view::life_bytes);
  for (std::size_t i = 0; i < m.life_count(); ++i) {
    if (m.life_at(i).who >= participants || m.life_at(i).incarnation == 0) return false;
  }
  m.table_first = r.take<std::uint32_t>();
  const auto in_table = r.take<std::uint32_t>();
  if (m.table_first > participants || in_table > participants - m.table_first) return false;
  m.table = r.bytes(std::size_t{in_table} * 8);
  return r.at_end();
}

/// The checksum of a message. Its seed is the receiver.
std::uint64_t checksum_for(const addressee& receiver, std::span<const std::byte> bytes) noexcept {
  std::array<std::byte, sizeof receiver.id> id;
  store_little(id.data(), receiver.id);
  return wire::checksum(bytes, wire::checksum(id, receiver.life));
}

}  // namespace

short_digest shortened(const configuration_digest& digest) noexcept {
  short_digest first;
  std::copy_n(digest.begin(), first.size(), first.begin());
  return first;
}

life message_view::life_at(std::size_t index) const noexcept {
  const std::byte* const at = lives.data() + index * life_bytes;
  return {load_little<std::uint16_t>(at), load_little<std::uint64_t>(at + 2)};
}

std::uint64_t message_view::table_at(std::size_t index) const noexcept {
  return load_little<std::uint64_t>(table.data() + index * 8);
}

bool message_view::ages(std::span<std::uint8_t> ages) const noexcept {
  if (part.count == 0) return false;
  if (dense) {
    std::memcpy(ages.data(), entries.data(), part.count);
    return true;
  }
  const std::byte* const from = entries.data();
  std::uint8_t* const to = ages.data();
  std::size_t next = bitmap_bytes(part.count);
  std::uint32_t i = 0;
  // There are no branches here, because the bits are as good as random. At most eight entries are read ahead.
  for (; i + 8 <= part.count && next + 8 <= entries.size(); i += 8) {
    const unsigned bits = std::to_integer<unsigned>(from[i / 8]);
#pragma GCC unroll 8
    for (unsigned k = 0; k < 8; ++k) {
      const unsigned told = bits >> k & 1U;
      to[i + k] = static_cast<std::uint8_t>(std::to_integer<unsigned>(from[next]) | (told - 1));
      next += told;
    }
  }
  for (; i < part.count; ++i) {
    const bool told = (std::to_integer<unsigned>(from[i / 8]) >> (i % 8) & 1U) != 0;
    to[i] = told ? std::to_integer<std::uint8_t>(from[next++]) : never_heard;
  }
  return true;
}

participant_index claimed_sender(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sender_at + sizeof(std::uint16_t)) return nobody;
  return load_little<std::uint16_t>(bytes.data() + sender_at);
}

result<message_head> decode_head(std::span<const std::byte> bytes) noexcept {
  reader r(bytes);
  message_head h;
  if (r.take<std::uint32_t>() != message_head::magic) return errc::malformed;
  h.version = r.take<std::uint16_t>();
  h.kind = static_cast<message_kind>(r.take<std::uint8_t>());
  const unsigned flags = r.take<std::uint8_t>();
  h.in_full = (flags & flag_in_full) != 0;
  h.obsolete = (flags & flag_obsolete) != 0;
  h.asks = (flags & flag_asks) != 0;
  h.established = (flags & flag_established) != 0;
  h.objects = (flags & flag_objects) != 0;
  h.sender = r.take<std::uint16_t>();
  h.loss = r.take<std::uint8_t>();
  const auto padding = r.take<std::uint8_t>();
  h.asked = r.take<std::uint32_t>();
  h.clock = r.take<std::uint64_t>();
  h.incarnation = r.take<std::uint64_t>();
  h.sequence = r.take<std::uint64_t>();
  h.echo = r.take<std::uint64_t>();
  const auto digest = r.bytes(h.digest.size());
  if (h.version >= first_with_ids) {
    h.sender_id = r.take<participant_id>();
    h.receiver_id = r.take<participant_id>();
  }
  if (r.failed()) return errc::malformed;
  std::copy(digest.begin(), digest.end(), h.digest.begin());
  if (h.version != protocol_version) return h;
  const bool known = h.kind == message_kind::ping || h.kind == message_kind::reply;
  const bool replies = h.kind == message_kind::reply;
  if (!known || (flags & ~all_flags) != 0 || padding != 0) return errc::malformed;
  if (h.clock > latest_clock) return errc::malformed;
  if (h.sequence == 0 || h.incarnation == 0 || (h.echo != 0) != replies) return errc::malformed;
  if (h.sender_id == 0 || h.receiver_id == 0) return errc::malformed;
  if (replies ? h.asks : h.obsolete || h.objects) return errc::malformed;
  return h;
}

result<message_view> decode_body(const message_head& head, std::span<const std::byte> body,
                                 std::uint32_t participants) noexcept {
  reader r(body);
  message_view m;
  m.head = head;
  if (head.in_full) m.configuration = take_claim(r, head.version);
  // For another configuration nothing else matters.
  if (head.objects) return r.at_end() ? result<message_view>(m) : errc::malformed;
  if (!take_entries(r, m, participants) || !take_lives(r, m, participants)) return errc::malformed;
  return m;
}

template <class T>
void message_writer::put(T value) noexcept {
  store_little(room_.data() + size_, value);
  size_ += sizeof(T);
}

void message_writer::put(std::span<const std::byte> bytes) noexcept {
  if (!bytes.empty()) std::memcpy(room_.data() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void message_writer::head(const message_head& h) noexcept {
  const unsigned flags = (h.in_full ? flag_in_full : 0U) | (h.obsolete ? flag_obsolete : 0U) |
                         (h.asks ? flag_asks : 0U) | (h.established ? flag_established : 0U) |
                         (h.objects ? flag_objects : 0U);
  put(message_head::magic);
  put(h.version);
  put(static_cast<std::uint8_t>(h.kind));
  put(static_cast<std::uint8_t>(flags));
  put(h.sender);
  put(h.loss);
  put(std::uint8_t{0});
  put(h.asked);
  put(h.clock);
  put(h.incarnation);
  put(h.sequence);
  put(h.echo);
  put(std::span<const std::byte>(h.digest));
  put(h.sender_id);
  put(h.receiver_id);
}

void message_writer::configuration(const claim& c) noexcept {
  put(c.interval_ms);
  put(c.participants);
  put(std::span<const std::byte>(c.list));
}

void message_writer::part_head(vector_part part, std::uint8_t form) noexcept {
  put(part.first);
  put(part.count);
  put(form);
  put(std::uint8_t{0});
  put(std::uint16_t{0});
}

void message_writer::no_entries() noexcept {
  part_head({}, form_none);
}

void message_writer::all_entries(vector_part part, const std::uint8_t* ages) noexcept {
  part_head(part, form_dense);
  put(std::as_bytes(std::span(ages, part.count)));
}

void message_writer::entries(vector_part part, const std::uint8_t* ages) noexcept {
  const auto told = static_cast<std::size_t>(part.count - std::count(ages, ages + part.count, never_heard));
  if (told == 0) return no_entries();
  if (bitmap_bytes(part.count) + told >= part.count) return all_entries(part, ages);
  part_head(part, form_bitmap);
  std::byte* bitmap = room_.data() + size_;
  std::byte* end = bitmap + bitmap_bytes(part.count);
  // There are no branches here, because the bits are as good as random. An entry that is not sent is
  // overwritten by the next one, and at the end by what follows in every message.
  const auto put_age = [&](unsigned& bits, std::uint32_t first, std::uint32_t i) {
    const std::uint8_t age = ages[first + i];
    const unsigned is_told = age != never_heard ? 1 : 0;
    bits |= is_told << i;
    *end = std::byte{age};
    end += is_told;
  };
  std::uint32_t first = 0;
  for (; first + 8 <= part.count; first += 8) {
    unsigned bits = 0;
#pragma GCC unroll 8
    for (std::uint32_t i = 0; i < 8; ++i) put_age(bits, first, i);
    *bitmap++ = static_cast<std::byte>(bits);
  }
  if (first != part.count) {
    unsigned bits = 0;
    for (std::uint32_t i = 0; first + i < part.count; ++i) put_age(bits, first, i);
    *bitmap = static_cast<std::byte>(bits);
  }
  size_ = static_cast<std::size_t>(end - room_.data());
}

void message_writer::lives(std::span<const life> lives) noexcept {
  put(static_cast<std::uint16_t>(lives.size()));
  put(std::uint16_t{0});
  for (const life& l : lives) {
    put(static_cast<std::uint16_t>(l.who));
    put(l.incarnation);
  }
}

void message_writer::table(std::uint32_t first, std::span<const std::uint64_t> incarnations,
                           std::size_t most) noexcept {
  const std::size_t room = room_.size() - size_ - 8;
  const std::size_t count = std::min({incarnations.size(), room / 8, most});
  put(first);
  put(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) put(incarnations[i]);
}

std::size_t add_checksum(std::span<std::byte> buffer, std::size_t size, const addressee& receiver) noexcept {
  store_little(buffer.data() + size, checksum_for(receiver, buffer.first(size)));
  return size + checksum_bytes;
}

std::optional<std::span<const std::byte>> without_checksum(std::span<const std::byte> bytes,
                                                           const addressee& receiver) noexcept {
  if (bytes.size() < checksum_bytes) return std::nullopt;
  const auto plain = bytes.first(bytes.size() - checksum_bytes);
  if (load_little<std::uint64_t>(bytes.data() + plain.size()) != checksum_for(receiver, plain))
    return std::nullopt;
  return plain;
}

}  // namespace scoll::gossip
