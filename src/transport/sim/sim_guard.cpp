#include "transport/sim/sim_guard.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::testing {

using wire::detail::load_little;
using wire::detail::store_little;

namespace {

constexpr std::uint32_t flight_head_bytes = 24;
constexpr std::uint32_t certificate_bytes = 16;
constexpr std::uint8_t flight_kind = 1;
constexpr std::uint8_t alert_kind = 2;
constexpr std::size_t record_head_bytes = 12;

// What a keyed checksum is for. The proofs of a handshake have the numbers of their flights.
constexpr std::uint64_t channel_label = 0x100;
constexpr std::uint64_t key_label = 0x200;

std::uint64_t checksum_of(std::uint64_t a, std::uint64_t b, std::uint64_t c = 0) noexcept {
  std::array<std::byte, 24> bytes;
  store_little(bytes.data(), a);
  store_little(bytes.data() + 8, b);
  store_little(bytes.data() + 16, c);
  return wire::checksum(bytes);
}

/// Puts bytes under a pad, or takes them from under it.
void cover(std::span<std::byte> bytes, std::uint64_t pad) noexcept {
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] ^= static_cast<std::byte>(pad >> (8 * (i % 8)));
}

}  // namespace

struct sim_guard::flight {
  std::uint32_t bytes;
  std::uint8_t kind;
  std::uint8_t number;
  std::uint8_t rounds;
  std::uint64_t nonce;
  std::uint64_t proof;

  static flight read(std::span<const std::byte> from) noexcept {
    const std::byte* const at = from.data();
    return {load_little<std::uint32_t>(at),     load_little<std::uint8_t>(at + 4),
            load_little<std::uint8_t>(at + 5),  load_little<std::uint8_t>(at + 6),
            load_little<std::uint64_t>(at + 8), load_little<std::uint64_t>(at + 16)};
  }
  void write(std::span<std::byte> into) const noexcept {
    std::byte* const at = into.data();
    store_little(at, bytes);
    store_little(at + 4, kind);
    store_little(at + 5, number);
    store_little(at + 6, rounds);
    store_little(at + 8, nonce);
    store_little(at + 16, proof);
  }
};

sim_certificate sim_certificate::issued(std::uint64_t authority, transport::node_id node) noexcept {
  return {authority, node, checksum_of(authority, node)};
}

sim_guard::sim_guard(side at, const sim_key& key, std::uint64_t seed,
                     const std::optional<sim_certificate>& own, std::shared_ptr<sim_guard_counts> counts)
    : side_(at), secret_(key.secret), random_(seed), own_(own), counts_(std::move(counts)) {}

status sim_guard::speaks_for(std::string_view, transport::node_id node) const noexcept {
  if (!own_ || named_ == node) return {};
  ++counts_->misnamed;
  return make_error(errc::not_authentic, "the certificate names node {}, not node {}", named_, node);
}

void sim_guard::begin(const transport::hello& opening, const sim_handshake& form) {
  form_ = form;
  std::array<std::byte, wire::fixed_size<transport::hello>> encoded;
  SCOLL_ASSERT(wire::encode_to(encoded, opening), "a hello has a fixed size");
  absorb(encoded);
  if (side_ == side::accepting) return;
  rounds_ = static_cast<std::uint8_t>(form.rounds);
  say(flight_kind);
}

// ---- the handshake

status sim_guard::on_step(std::span<const std::byte> from_peer) noexcept {
  note_step(from_peer.size());
  if (proven_) return error(errc::malformed, "a step of a guard behind the last one");
  arriving_.insert(arriving_.end(), from_peer.begin(), from_peer.end());
  if (arriving_.size() < flight_head_bytes) return {};
  const flight said = flight::read(arriving_);
  if (arriving_.size() < said.bytes) return {};
  if (arriving_.size() > said.bytes || said.bytes < head_bytes()) {
    ++counts_->flights_refused;
    return error(errc::malformed, "bytes behind the last step of a guard");
  }
  counts_->parted_flights += std::exchange(steps_of_flight_, 0) > 1;
  return take_flight(said);
}

void sim_guard::note_step(std::size_t bytes) noexcept {
  ++steps_of_flight_;
  counts_->most_steps = std::max(counts_->most_steps, ++steps_);
  counts_->most_step_bytes = std::max<std::uint64_t>(counts_->most_step_bytes, bytes);
}

status sim_guard::take_flight(const flight& said) noexcept {
  if (said.kind == alert_kind)
    return error(errc::not_authentic, "the proof: an alert says that it was refused");
  if (said.kind != flight_kind || said.number != next_) {
    ++counts_->flights_refused;
    return refuse("the proof: not the next part of the handshake");
  }
  if (next_ == 0) rounds_ = said.rounds;
  if (said.proof != proof_of(said.number, said.nonce)) {
    ++counts_->proofs_refused;
    return refuse("the proof: it is wrong");
  }
  if (!certified()) {
    ++counts_->proofs_refused;
    return refuse("the certificate: it is not of this authority, or its key is another one");
  }
  absorb(arriving_);
  arriving_.clear();
  ++next_;
  const int last = 2 * rounds_;
  if (next_ <= last) say(flight_kind);
  if (next_ > last) finish();
  return {};
}

std::uint32_t sim_guard::head_bytes() const noexcept {
  return flight_head_bytes + (own_ ? certificate_bytes : 0);
}

/// The signature is over all that the sides have agreed on up to this flight, as in TLS.
void sim_guard::sign() noexcept {
  if (!own_) return;
  store_little(said_.data() + flight_head_bytes, own_->node);
  store_little(said_.data() + flight_head_bytes + 8, checksum_of(own_->key, agreed_));
}

bool sim_guard::certified() noexcept {
  if (!own_) return true;
  named_ = load_little<std::uint64_t>(arriving_.data() + flight_head_bytes);
  const auto signature = load_little<std::uint64_t>(arriving_.data() + flight_head_bytes + 8);
  return signature == checksum_of(sim_certificate::issued(own_->authority, named_).key, agreed_);
}

/// The peer is told that its proof is not believed.
status sim_guard::refuse(std::string_view why) noexcept {
  say(alert_kind);
  return error(errc::not_authentic, why);
}

void sim_guard::say(std::uint8_t kind) {
  flight f{head_bytes(), kind, next_, rounds_, random_.next(), 0};
  if (kind == flight_kind) {
    f.bytes = std::max(f.bytes, form_.flight_bytes);
    f.proof = proof_of(f.number, f.nonce);
  }
  said_.assign(f.bytes, static_cast<std::byte>(f.nonce));
  f.write(said_);
  if (kind == flight_kind) sign();
  tell(said_);
  if (kind != flight_kind) return;
  absorb(said_);
  ++next_;
}

/// Covers the number of rounds, and the numbers and nonces of both sides up to this flight. The last proofs of each
/// side cover what the other one has drawn, so that none is worth anything on another connection.
std::uint64_t sim_guard::proof_of(std::uint8_t number, std::uint64_t nonce) noexcept {
  agreed_ = checksum_of(checksum_of(agreed_, rounds_), number, nonce);
  return keyed(number, agreed_);
}

/// Whatever the sides say to each other goes into the channel, the parts that no proof covers too.
void sim_guard::absorb(std::span<const std::byte> bytes) noexcept {
  transcript_ = wire::checksum(bytes, transcript_);
}

std::uint64_t sim_guard::keyed(std::uint64_t label, std::uint64_t over) const noexcept {
  return checksum_of(secret_, label, over);
}

void sim_guard::finish() noexcept {
  const std::uint64_t said = checksum_of(agreed_, transcript_);
  for (std::size_t i = 0; i < channel_.size() / 8; ++i)
    store_little(channel_.data() + 8 * i, keyed(channel_label + i, said));
  const std::uint64_t of_connecting = keyed(key_label, agreed_);
  const std::uint64_t of_accepting = keyed(key_label + 1, agreed_);
  sealing_key_ = side_ == side::connecting ? of_connecting : of_accepting;
  opening_key_ = side_ == side::connecting ? of_accepting : of_connecting;
  proven_ = true;
  ++counts_->proven;
  counts_->proven_accepting += side_ == side::accepting;
}

// ---- records

std::uint64_t sim_guard::pad_of(std::uint64_t key, std::uint64_t number, std::size_t bytes) const noexcept {
  return checksum_of(key, number, bytes);
}

std::size_t sim_guard::seal_records(std::span<const std::byte> plain, std::span<std::byte> into) noexcept {
  std::size_t written = 0;
  while (!plain.empty()) {
    const auto now = plain.first(std::min(plain.size(), most_record_bytes));
    const std::uint64_t pad = pad_of(sealing_key_, records_sealed_++, now.size());
    const auto content = into.subspan(written + record_head_bytes, now.size());
    std::memcpy(content.data(), now.data(), now.size());
    cover(content, pad);
    store_little(into.data() + written, static_cast<std::uint32_t>(now.size()));
    store_little(into.data() + written + 4, wire::checksum(content, pad));
    written += record_head_bytes + now.size();
    plain = plain.subspan(now.size());
  }
  return written;
}

result<std::size_t> sim_guard::open(std::span<std::byte> into) noexcept {
  if (handed_out_ == 0 && !collect_record()) return std::size_t{0};
  if (handed_out_ == 0 && !open_record()) {
    ++counts_->records_refused;
    return error(errc::not_authentic, "what arrived was altered or is not of this connection: a record");
  }
  const std::size_t n = std::min(into.size(), record_.size() - handed_out_);
  std::memcpy(into.data(), record_.data() + handed_out_, n);
  handed_out_ += n;
  if (handed_out_ == record_.size()) {
    record_.clear();
    handed_out_ = 0;
  }
  return n;
}

/// Takes what has arrived until the record has so many bytes.
bool sim_guard::collect(std::size_t until) noexcept {
  const auto now = sealed_.first(std::min(sealed_.size(), until - std::min(until, record_.size())));
  record_.insert(record_.end(), now.begin(), now.end());
  sealed_ = sealed_.subspan(now.size());
  return record_.size() >= until;
}

/// False if the rest of the record is still to come. A length that cannot be is not waited for.
bool sim_guard::collect_record() noexcept {
  if (!collect(record_head_bytes)) return false;
  const auto bytes = load_little<std::uint32_t>(record_.data());
  return bytes == 0 || bytes > most_record_bytes || collect(record_head_bytes + bytes);
}

bool sim_guard::open_record() noexcept {
  const std::span<std::byte> content = std::span(record_).subspan(record_head_bytes);
  const std::uint64_t pad = pad_of(opening_key_, records_opened_++, content.size());
  if (content.empty() || load_little<std::uint32_t>(record_.data()) != content.size() ||
      load_little<std::uint64_t>(record_.data() + 4) != wire::checksum(content, pad))
    return false;
  cover(content, pad);
  handed_out_ = record_head_bytes;
  return true;
}

}  // namespace scoll::testing
