#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/number_set.hpp"

namespace scoll::sim {

/// A request that must be refused, sent soon after the broadcast that it imitates.
enum class stray_kind : std::uint8_t {
  repeated,  ///< the root repeats its request to a child that has executed it; the host chooses the child
  stranger,  ///< the host, which is not the member's parent, sends it a request
  bygone,    ///< the root sends a child a request of its earlier life; the host chooses the child
  reader,    ///< the host asks a member for bulk data that it does not get from there
  orderer,   ///< the host orders bulk data by the descriptor of a place that its member has back
};

/// The services of the simulated hosts. Each is one mixture of hooks.
enum class service_kind : std::uint8_t {
  bare,       ///< `execute` only
  hooked,     ///< every hook, all of them coroutines
  plain,      ///< every hook, all of them plain functions
  brief,      ///< a plain `execute` that is short
  versioned,  ///< some hosts serve version 1, the others version 2
  streaming,  ///< likewise, and members stream their replies
};

/// What a broadcast does about members that are known to be dead.
enum class dead_choice : std::uint8_t { by_default, refuse, try_others };

/// The members that a broadcast is for.
enum class audience : std::uint8_t {
  chosen,     ///< all, or those that a `subset` names
  alive,      ///< those that the root holds alive
  same_view,  ///< the same, and members with another view refuse
};

/// What the users of the hosts do.
namespace events {

using std::chrono::microseconds;

/// A host creates a group.
struct group {
  static constexpr std::string_view name = "group";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint32_t creator = 0;
  std::uint8_t tree = 0;
  std::uint32_t tree_parameter = 0;
  number_set members;
  service_kind service = service_kind::bare;
  std::uint32_t second_parameter = 0;
  std::uint32_t third_parameter = 0;
  bool entities = false;     ///< the members have entities
  microseconds deadline{0};  ///< 0: the usual one
  bool delayed = false;      ///< the members are told with the first broadcast
  bool large = false;        ///< the members have more entities than a message holds
  bool lasting = false;      ///< it does not end with its creator
  std::uint64_t inside = 0;  ///< one more than the number of the group within which it is; 0: none
};

/// The members of a group are in so many zones. From the beginning.
struct zones {
  static constexpr std::string_view name = "zones";
  static constexpr bool fault = false;
  std::uint64_t group = 0;
  std::uint32_t count = 0;
};

/// A host makes a group of the same members at once, where some may not have been told.
struct settle {
  static constexpr std::string_view name = "settle";
  static constexpr bool fault = false;
  std::uint64_t group = 0;
  std::uint32_t host = 0;
  std::uint64_t number = 0;  ///< of the new group
};

/// From now on the services name the members of a group to every node that asks.
struct mapped {
  static constexpr std::string_view name = "mapped";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint8_t tree = 0;
  std::uint32_t tree_parameter = 0;
  number_set members;
  service_kind service = service_kind::bare;
  number_set dissenters;  ///< the members whose service names others
  number_set slow;        ///< the hosts whose service takes its time to answer
  microseconds takes{0};
};

/// Hosts adopt a group by themselves, now and after each boot.
struct adopt {
  static constexpr std::string_view name = "adopt";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint8_t tree = 0;
  std::uint32_t tree_parameter = 0;
  number_set members;
  service_kind service = service_kind::bare;
  number_set holders;     ///< the members that adopt it; the others do not know it
  number_set dissenters;  ///< those of them that adopt another membership under the same id
};

struct bcast {
  static constexpr std::string_view name = "bcast";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;
  microseconds work{0};
  microseconds deadline{0};          ///< 0: none
  microseconds processing_bound{0};  ///< 0: the service's
  microseconds prepare{0};
};

/// The manner of a broadcast, before it begins.
struct manner {
  static constexpr std::string_view name = "manner";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  dead_choice dead = dead_choice::by_default;
  audience to = audience::chosen;
  microseconds extension{0};  ///< by which some members extend the processing bound; 0: not
  number_set brimful;         ///< ranks whose reply takes exactly the capacity
};

/// Ranks whose hooks fail, before the broadcast begins.
struct hooks {
  static constexpr std::string_view name = "hooks";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  number_set refusing;
  number_set failing;
  number_set throwing;
  number_set oversized;
};

/// The bulk data of a broadcast, before it begins.
struct freight {
  static constexpr std::string_view name = "freight";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  std::uint64_t bytes = 0;
  std::uint8_t plan = 0;
  std::uint8_t radix = 0;
  std::uint32_t piece_bytes = 0;
  std::uint32_t parts = 1;  ///< the spans in which the bytes lie, on every host
  number_set placeless;     ///< ranks that give no place; the pieces pass, where service and plan let them
  number_set spoiling;      ///< ranks whose hook refuses a chunk
  number_set altering;      ///< ranks that alter a byte of their place when it has been checked
  number_set standing;      ///< ranks whose hook does not return from one chunk, where it can wait
};

/// The hosts that a broadcast addresses besides its root, before it begins.
struct subset {
  static constexpr std::string_view name = "subset";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  number_set hosts;
};

/// Makes a broadcast to a created group the last of its root, before it begins.
struct last {
  static constexpr std::string_view name = "last";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
};

struct cancel {
  static constexpr std::string_view name = "cancel";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
};

/// A host asks for the end of a group.
struct destroy {
  static constexpr std::string_view name = "destroy";
  static constexpr bool fault = false;
  std::uint64_t group = 0;
  std::uint32_t host = 0;
};

struct stray {
  static constexpr std::string_view name = "stray";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  std::uint32_t host = 0;
  stray_kind kind = stray_kind::repeated;
};

struct call {
  static constexpr std::string_view name = "call";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
  microseconds work{0};
  microseconds deadline{0};     ///< 0: none
  std::uint64_t behaviour = 0;  ///< `errand_bit`s
  std::uint64_t result_bytes = 0;
};

/// A call that carries the descriptor of exposed memory.
struct haul {
  static constexpr std::string_view name = "haul";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t exposed_bytes = 0;
  microseconds work{0};
  microseconds deadline{0};     ///< 0: none
  std::uint64_t behaviour = 0;  ///< `errand_bit`s
  std::uint64_t shape = 0;      ///< see `shape_of`
};

/// The caller stops a call or a haul.
struct call_stop {
  static constexpr std::string_view name = "call_stop";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
};

/// A host agrees with the members of a group.
struct agree {
  static constexpr std::string_view name = "agree";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::uint64_t instance = 0;
  std::uint32_t host = 0;
  microseconds deadline{0};
  bool survivors = false;  ///< all members that are not held dead decide, not a majority
};

/// A host shrinks a group, together with its members.
struct shrink {
  static constexpr std::string_view name = "shrink";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::uint32_t host = 0;
  microseconds deadline{0};
  bool survivors = false;  ///< as in `agree`
};

/// A host revokes a group.
struct revoke {
  static constexpr std::string_view name = "revoke";
  static constexpr bool fault = false;
  std::uint64_t group = 0;
  std::uint32_t host = 0;
  std::uint32_t reason = 0;
};

/// A call is made through a group, before it begins.
struct within {
  static constexpr std::string_view name = "within";
  static constexpr bool fault = false;
  std::uint64_t call = 0;
  std::uint64_t group = 0;
};

/// A client has a member of a group broadcast for it.
struct remote_bcast {
  static constexpr std::string_view name = "remote_bcast";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::uint32_t client = 0;  ///< this host, or the next one that is a client
  std::uint32_t rank = 0;    ///< of the member, modulo the size of the group
  std::uint64_t bytes = 0;
  microseconds work{0};
  microseconds deadline{0};  ///< 0: none
};

struct boot {
  static constexpr std::string_view name = "boot";
  static constexpr bool fault = false;
  std::uint32_t host = 0;
};

}  // namespace events
}  // namespace scoll::sim
