#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "scoll/coro/error.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::transport {

/// A way to a peer: one of this node's rails, and one of the peer's.
struct path_key {
  std::uint8_t own = 0;
  std::uint8_t theirs = 0;

  friend bool operator==(const path_key&, const path_key&) = default;
};

enum class path_health : std::uint8_t {
  untried,  ///< there has been no connection yet
  good,
  proving,  ///< it is back, and carries messages only if no good path can
  suspect,  ///< it does not answer while another path of the same peer does
  dead,     ///< its connection is gone; new ones are tried
};

/// All of them, each at the index that is its value.
inline constexpr std::array path_healths{path_health::untried, path_health::good, path_health::proving,
                                         path_health::suspect, path_health::dead};

std::string_view to_string(path_health health) noexcept;

/// The health of one path, and what has become of it. It changes only as it is told; it measures nothing.
///
/// ```text
///   untried ──up──► good ──suspected──► suspect ──too long──► dead
///                    ▲  └────────────broken─────────────────►  │
///                    │                    │ answers            │ up
///                    └──── proven ──── proving ◄───────────────┘
/// ```
class path {
 public:
  /// The answers that a path gives before it is proven, and the longest time that it has to prove itself.
  static constexpr std::uint32_t answers_wanted = 5;
  static constexpr nanoseconds longest_proof = std::chrono::seconds(60);
  /// Trouble within this time of earlier trouble doubles the time to prove.
  static constexpr nanoseconds memory = std::chrono::seconds(60);
  static constexpr nanoseconds first_pause = std::chrono::milliseconds(200);
  static constexpr nanoseconds longest_pause = std::chrono::seconds(10);

  path(path_key key, std::uint32_t rank, bool reachable) noexcept
      : key_(key), rank_(rank), reachable_(reachable) {}

  path_key key() const noexcept { return key_; }
  /// The place in the order of preference; 0 is the best.
  std::uint32_t rank() const noexcept { return rank_; }
  /// False if this node has no address for it, so that only the peer can connect.
  bool reachable() const noexcept { return reachable_; }
  /// The rail of the peer at which the latest connection from here has arrived, once there has been one. If
  /// that is another one than `key().theirs`, addresses stand in a wrong order, or wires are crossed.
  std::uint8_t arrives_at() const noexcept { return arrival_known_ ? arrives_at_ : key_.theirs; }
  bool arrival_known() const noexcept { return arrival_known_; }
  bool crossed() const noexcept { return arrives_at() != key_.theirs; }
  void arrived_at(std::uint8_t theirs) noexcept {
    arrives_at_ = theirs;
    arrival_known_ = true;
  }
  path_health health() const noexcept { return health_; }
  /// When the health last changed.
  time_point since() const noexcept { return since_; }
  /// Why the path was last suspected or given up.
  const error& why() const noexcept { return why_; }
  std::uint64_t suspicions() const noexcept { return suspicions_; }
  std::uint64_t deaths() const noexcept { return deaths_; }
  /// How often messages have left this path for another one.
  std::uint64_t moves() const noexcept { return moves_; }
  /// How long the path has to answer before it is good again.
  nanoseconds proof() const noexcept { return proof_; }
  /// When the next attempt to connect begins, if the path has no connection.
  time_point next_try() const noexcept { return next_try_; }

  /// 0: good or untried, 1: proving, 2: suspect, 3: dead.
  unsigned standing() const noexcept;
  bool usable() const noexcept { return standing() < 2; }

  /// A connection for control has come up.
  void came_up(time_point now) noexcept;
  /// `prove` is the shortest time to prove.
  void suspect(time_point now, nanoseconds prove, const error& reason) noexcept;
  /// A probe has been answered over it.
  void answered(time_point now) noexcept;
  /// The connection for control is gone. A suspicion and the death that follows it are one trouble, and so is
  /// the end of a connection that was up for less than `first_pause`, and has answered nothing.
  void died(time_point now, nanoseconds prove, const error& reason) noexcept;
  /// An attempt to connect has failed, and how many have in a row.
  void attempt_failed(const error& reason) noexcept {
    why_ = reason;
    ++failures_;
  }
  std::uint32_t failures() const noexcept { return failures_; }
  void left() noexcept { ++moves_; }
  /// The pause before the next attempt to connect; they grow until the path is proven.
  nanoseconds next_pause() noexcept;
  /// There is a reason to hope: the pauses are short again.
  void hope() noexcept { pause_ = nanoseconds(0); }
  void try_at(time_point when) noexcept { next_try_ = when; }
  /// The bulk lane has lost or left its connection by the path. It prefers others for `least`, or until a
  /// lane is connected by it. Each further time within a minute doubles that, up to a minute, so that two
  /// nodes that prefer different paths do not take bulk data from each other for ever.
  void bulk_left(time_point now, nanoseconds least) noexcept;
  /// The bulk lane could not even connect by the path: those that nobody has used are better for a while.
  void bulk_failed(time_point now) noexcept {
    bulk_after_ = now + longest_pause;
    bulk_failed_ = true;
  }
  /// What failed before counts no longer: the path is merely one that bulk data have left.
  void forgive_bulk() noexcept;
  void bulk_came_up() noexcept { bulk_after_ = {}; }
  bool takes_bulk(time_point now) const noexcept { return now >= bulk_after_; }
  bool fails_bulk(time_point now) const noexcept { return bulk_failed_ && !takes_bulk(now); }
  /// Takes over what has become of the same path under another rank.
  void resume(const path& before) noexcept;

 private:
  void enter(path_health next, time_point now) noexcept;
  void trouble(time_point now, nanoseconds prove) noexcept;

  path_key key_;
  std::uint32_t rank_;
  bool reachable_;
  path_health health_ = path_health::untried;
  std::uint8_t arrives_at_ = 0;
  bool arrival_known_ = false;
  bool bulk_failed_ = false;
  std::uint32_t answers_ = 0;  // since it is proving
  std::uint32_t failures_ = 0;
  std::uint32_t suspicions_ = 0;
  std::uint32_t deaths_ = 0;
  std::uint32_t moves_ = 0;
  time_point since_{};
  time_point troubled_at_{};
  time_point next_try_{};
  time_point bulk_after_{};
  time_point bulk_left_at_{};
  nanoseconds bulk_away_{0};
  nanoseconds proof_{0};
  nanoseconds pause_{0};
  error why_;
};

}  // namespace scoll::transport
