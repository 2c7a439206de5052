#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/time.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/rails/link_down.hpp"
#include "transport/session/rails/path.hpp"

namespace scoll::transport {

class endpoint;

/// The paths to one peer. A session has a table only if there can be more than one path.
class path_table {
 public:
  /// The most connections of a lane at once.
  static constexpr std::size_t most_connected = 4;
  /// So many messages for bulk must wait before another connection is made for them.
  static constexpr std::size_t waiting_for_stripe = 4;
  /// The most links whose end the peer has not confirmed; the oldest is forgotten first.
  static constexpr std::size_t most_told = 16;
  /// A peer that has not been used for this long gets no new standby connections.
  static constexpr nanoseconds idle_after = std::chrono::seconds(60);

  /// Says where the peer is. Known paths keep their health. For an endpoint of transports by name, an address
  /// with a place for bulk stands for two: that for messages, and that which bulk prefers.
  void set_addresses(const endpoint& at, std::vector<std::string> addresses);
  /// The endpoint has numbered its rails anew, and no path has been used yet.
  void rank_anew(const endpoint& at);

  /// The peer's address on one of its rails; empty if it is not known.
  const std::string& address(std::uint8_t theirs) const noexcept;
  const std::vector<std::string>& addresses() const noexcept { return addresses_; }

  /// The paths, best first.
  std::span<path> all() noexcept { return paths_; }
  std::span<const path> all() const noexcept { return paths_; }
  /// The path of that key. An unknown one is added behind all others: the peer has connected by it.
  path& at(path_key key);
  const path* find(path_key key) const noexcept;
  /// How this node names a rail of the peer that calls itself `theirs`: by the place of the address that leads to
  /// it, if connections have shown which one does.
  std::uint8_t name_of(std::uint8_t theirs) const noexcept;
  /// True if the peer's address names that rail of the peer for class bulk.
  bool is_for_bulk(std::uint8_t theirs) const noexcept { return theirs < max_rails && for_bulk_[theirs]; }

  /// Connections of the session that is over need not be told any more.
  void session_over() noexcept {
    told.clear();
    answers.clear();
    losses.clear();
  }

  /// A path that does not answer what left at `began`.
  struct loss {
    path_key key;
    time_point began;
  };

  /// When something was last awaited of the peer.
  time_point used_at{};
  /// The losses of which it is not known whether another rail answers.
  std::vector<loss> losses;
  /// The connections whose end this node has told, or is about to tell, and the peer has not confirmed.
  std::vector<link_down> told;
  /// The answers that are due.
  std::vector<link_down> answers;
  /// The peer has told the end of the connection that is being cut.
  bool peer_told = false;

 private:
  void rank(const endpoint& at);

  std::vector<std::string> addresses_;
  std::bitset<max_rails> for_bulk_;  // by the number of the peer's rail
  std::vector<path> paths_;
};

/// True if two numeric addresses with ports, of the same family, agree in their first `prefix` bits.
bool same_network(std::string_view left, std::string_view right, std::uint8_t prefix) noexcept;

}  // namespace scoll::transport
