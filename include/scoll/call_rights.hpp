#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/ids.hpp"

namespace scoll {

/// Which functions and services callers may use, by class: the nodes of the cluster, its clients, and clients
/// that a certificate names. The empty list allows everything to everybody.
///
/// A list has entries such as `client=stat_file|read_block, client/backup=*, node=service:0x0204`. The entry
/// of a named client takes the place of that of all clients. A client without an entry may call nothing;
/// nodes without one may call everything. `service:ID` stands for broadcasts of a service, `*` for
/// everything.
class call_rights {
 public:
  /// Reads a list. Error: `invalid_argument`, whose text has the entry and says what is wrong with it.
  static result<call_rights> parse(std::string_view text);

  bool empty() const noexcept { return entries_.empty(); }
  /// Says whether a caller may call a function, or have a service broadcast. `client` is the name of the
  /// caller in its certificate; empty if it has none.
  bool may_call(node_id caller, std::string_view client, std::string_view function) const noexcept;
  bool may_broadcast(node_id caller, std::string_view client, service_id service) const noexcept;

  /// The list in the form that `parse` reads.
  friend std::string to_string(const call_rights& rights);

 private:
  struct entry {
    std::string who;
    bool all = false;
    std::vector<std::string> functions;
    std::vector<std::uint32_t> services;
  };

  static status add(std::string_view what, entry& to);
  const entry* find(std::string_view who) const noexcept;
  const entry* entry_of(node_id caller, std::string_view client) const noexcept;
  bool without_entry(node_id caller) const noexcept;

  std::vector<entry> entries_;
};

std::string to_string(const call_rights& rights);

}  // namespace scoll
