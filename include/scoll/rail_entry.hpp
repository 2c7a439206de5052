#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scoll {

/// By what the links of a rail are made.
enum class rail_kind : std::uint8_t {
  tcp,
  verbs,  ///< RDMA, beside a silent TCP connection to the same address (docs/verbs.md)
};

/// The name of a kind in addresses: "tcp" or "verbs".
std::string_view to_string(rail_kind kind) noexcept;

/// One rail of a node, as the setting `rails.use` names it.
struct rail_entry {
  std::string name;  ///< 1 to 32 letters, digits, '-' and '_'
  /// Where the rail listens, and whence it connects: numeric, with port, and no wildcard. Port 0 takes a free
  /// one.
  std::string address;
  /// The length in bits of the prefix of the rail's network; 0: not known.
  std::uint8_t prefix = 0;
  /// The network interface by which the rail listens and connects; empty: the kernel chooses.
  std::string device;
  bool bulk = false;  ///< class bulk prefers the rail
  rail_kind kind = rail_kind::tcp;

  friend bool operator==(const rail_entry&, const rail_entry&) = default;
};

/// A list of rails as it was read.
struct rail_list {
  std::vector<rail_entry> rails;  ///< empty if there is a complaint
  /// What is wrong, with the number and the text of the entry; empty if nothing is. An `error` has only room
  /// for a part of it.
  std::string complaint;
};

/// Reads a list of rails such as "a=tcp://10.0.0.2:7001%eth0, b=verbs://10.1.0.2:7001/24%eth1!bulk": a name,
/// a transport with a numeric address, and in any order the length of the network's prefix, the device and
/// `!bulk`. An empty text is an empty list. Two TCP rails in one network without devices are refused, because
/// a source address chooses no interface.
rail_list parse_rails(std::string_view text);

/// Writes a list in the form that `parse_rails` reads.
std::string to_string(const std::vector<rail_entry>& rails);

}  // namespace scoll
