#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "transport/session/link_guard.hpp"
#include "transport/sim/sim_security.hpp"

namespace scoll::testing {

/// The guard of one simulated connection. What a side says at a time is a flight: its number, a nonce, a
/// proof, and filling. Flights go back and forth; the side that connected has the first and the last one.
///
/// ```text
///   flight := bytes u32 | kind u8 | number u8 | rounds u8 | 0 u8 | nonce u64 | proof u64 | certificate | filling
///   certificate := nothing, or node u64 | signature u64
///   record := bytes u32 | proof u64 | content, under a pad
/// ```
class sim_guard final : public transport::link_guard {
 public:
  enum class side : std::uint8_t { connecting, accepting };

  sim_guard(side at, const sim_key& key, std::uint64_t seed, const std::optional<sim_certificate>& own,
            std::shared_ptr<sim_guard_counts> counts);
  ~sim_guard() override = default;

  /// Binds the guard to its hello. The side that connects then has its first flight to say.
  void begin(const transport::hello& opening, const sim_handshake& form);

  bool proven() const noexcept override { return proven_; }
  const channel_hash& channel() const noexcept override { return channel_; }
  status speaks_for(std::string_view cluster, transport::node_id node) const noexcept override;
  std::string_view client_name(std::string_view) const noexcept override { return {}; }
  bool announces() const noexcept override { return side_ == side::accepting; }
  void feed(std::span<const std::byte> sealed) noexcept override { sealed_ = sealed; }
  result<std::size_t> open(std::span<std::byte> into) noexcept override;

 private:
  struct flight;

  status on_step(std::span<const std::byte> from_peer) noexcept override;
  std::size_t seal_records(std::span<const std::byte> plain, std::span<std::byte> into) noexcept override;

  // the handshake
  void note_step(std::size_t bytes) noexcept;
  status take_flight(const flight& said) noexcept;
  std::uint32_t head_bytes() const noexcept;
  void sign() noexcept;
  bool certified() noexcept;
  status refuse(std::string_view why) noexcept;
  void say(std::uint8_t kind);
  std::uint64_t proof_of(std::uint8_t number, std::uint64_t nonce) noexcept;
  void absorb(std::span<const std::byte> bytes) noexcept;
  void finish() noexcept;
  std::uint64_t keyed(std::uint64_t label, std::uint64_t over) const noexcept;

  // records
  std::uint64_t pad_of(std::uint64_t key, std::uint64_t number, std::size_t bytes) const noexcept;
  bool collect(std::size_t until) noexcept;
  bool collect_record() noexcept;
  bool open_record() noexcept;

  side side_;
  std::uint64_t secret_;
  random_generator random_;
  std::optional<sim_certificate> own_;  // none: whoever has the key may be any node
  transport::node_id named_ = 0;        // by the certificate of the other side
  std::shared_ptr<sim_guard_counts> counts_;
  sim_handshake form_;
  std::uint8_t rounds_ = 0;          // as the side that connected says
  std::uint8_t next_ = 0;            // the number of the next flight, from either side
  std::uint64_t agreed_ = 0;         // over the rounds, numbers and nonces
  std::uint64_t transcript_ = 0;     // over every byte
  std::vector<std::byte> arriving_;  // of a flight
  std::uint64_t steps_of_flight_ = 0;
  std::uint64_t steps_ = 0;
  std::vector<std::byte> said_;
  bool proven_ = false;
  channel_hash channel_{};

  std::uint64_t sealing_key_ = 0, opening_key_ = 0;
  std::uint64_t records_sealed_ = 0, records_opened_ = 0;
  std::span<const std::byte> sealed_;
  std::vector<std::byte> record_;  // that arrives, and then is handed out
  std::size_t handed_out_ = 0;     // of it; 0: it is not open
};

}  // namespace scoll::testing
