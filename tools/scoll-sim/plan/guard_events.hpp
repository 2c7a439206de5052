#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// What happens to the guards of connections, and who tries to get past them.
namespace scoll::sim {

/// How somebody who does not belong to the cluster tries to be taken for one of its nodes.
enum class outsider_manner : std::uint8_t {
  without_proof,  ///< names the right key, and goes on without a proof
  wrong_secret,   ///< names the right key, and has another one
  unknown_key,    ///< has a key that was never in the ring
  removed_key,    ///< has the key that the cluster has given up
  replay,         ///< says again what a node has said
  silent,         ///< stops at some step, and says nothing more
  cut,            ///< likewise, and hangs up
  downgrade,      ///< offers to do without a guard
  endless,        ///< comes to no end of its steps
  overlong,       ///< says a step that is too long
  other_node,     ///< has a key, and the certificate of another node than it says
};

inline constexpr std::size_t outsider_manners = static_cast<std::size_t>(outsider_manner::other_node) + 1;
/// The first manners are those of outsiders where nodes have no certificates.
inline constexpr std::size_t manners_without_certificates =
    static_cast<std::size_t>(outsider_manner::overlong) + 1;

namespace events {

/// All connections are guarded, from the beginning: by handshakes of so many rounds, whose parts have at
/// least so many bytes.
struct guards {
  static constexpr std::string_view name = "guards";
  static constexpr bool fault = false;
  std::uint32_t rounds = 1;
  std::uint32_t flight_bytes = 0;
};

/// A host takes a step to another key: 1 adds the new key behind the old one, 2 puts it first, 3 removes the
/// old one. A step that some other host has not come near to is left out.
struct rekey {
  static constexpr std::string_view name = "rekey";
  static constexpr bool fault = false;
  std::uint32_t host = 0;
  std::uint32_t step = 1;
};

/// Somebody between two hosts alters the next so many hellos or steps, with the right checksums.
struct forge {
  static constexpr std::string_view name = "forge";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t writes = 1;
};

/// A host that is none of the cluster's connects to one of its hosts, and says that it is `claims`. It comes
/// `count` times: at once, or one time after the other if it hangs up.
struct outsider {
  static constexpr std::string_view name = "outsider";
  static constexpr bool fault = false;
  outsider_manner manner = outsider_manner::without_proof;
  std::uint32_t to = 0;
  std::uint32_t rail = 0;
  std::uint32_t claims = 0;
  std::uint32_t count = 1;
  std::uint32_t step = 0;  ///< after which it stops, if it does
};

}  // namespace events
}  // namespace scoll::sim
