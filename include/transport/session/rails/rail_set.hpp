#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/coro/result.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// What an endpoint has to know of one of its rails.
struct rail_traits {
  /// Where the rail listens, such as "10.0.0.2:7001"; empty: nowhere.
  std::string listen;
  /// The length in bits of the prefix of the rail's network; 0: not known. A peer's address in the same
  /// network is preferred.
  std::uint8_t prefix = 0;
  /// Class bulk prefers this rail.
  bool bulk = false;
  /// The network interface that the rail is bound to, for people; empty: none.
  std::string device{};
};

/// The rails of an endpoint, in the order of preference. Peers number the rails of a node in this order, so
/// the addresses of a node are listed everywhere in the order of its rails. Each rail is an object of its
/// own, and the rails must outlive the endpoint, as must the set.
///
/// ```cpp
/// rail_set rails;
/// rails.add("a", tcp, {.listen = "10.0.0.2:7001", .prefix = 24}).value();
/// rails.add("b", other_tcp, {.listen = "10.1.0.2:7001", .prefix = 24}).value();
/// scoll::node n(loop, rails, options);
/// n.add_peer(3, {"10.0.0.3:7001", "10.1.0.3:7001"}).value();
/// ```
class rail_set {
 public:
  struct entry {
    std::string name;
    rail* transport;
    rail_traits traits;
  };

  /// Adds a rail behind those that are there. Errors: `already_exists` (the name), `invalid_argument` (an
  /// empty name, or more than `max_rails` rails).
  status add(std::string name, rail& transport, rail_traits traits = {});
  std::size_t size() const noexcept { return entries_.size(); }
  const entry& operator[](std::size_t number) const noexcept { return entries_[number]; }

 private:
  std::vector<entry> entries_;
};

}  // namespace scoll::transport
