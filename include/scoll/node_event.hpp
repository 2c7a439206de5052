#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/log.hpp"

namespace scoll {

/// The kinds of events that a node keeps.
enum class node_event_kind : std::uint8_t {
  session_begun,      ///< a peer is connected, for the first time or after a loss
  session_lost,       ///< everything pending with a peer has ended; the text has the reason
  peer_dead,          ///< liveness has declared a peer dead
  peer_alive,         ///< a peer that was dead or unknown lives
  handshake_refused,  ///< this node or a peer has refused a connection
  link_broken,        ///< a connection was broken off because of what its peer had sent
  path_suspected,     ///< one of several paths to a peer does not answer while another one does
  path_dead,          ///< the connection of one of several paths to a peer is gone
  path_good,          ///< such a path is good again
  path_crossed,       ///< connections by such a path arrive at another of the peer's rails
  rail_dead,          ///< one of the node's own rails is taken for dead
  rail_alive,         ///< such a rail has been answered again
  messages_moved,     ///< messages to a peer go by another of its paths than before
  gossip_disagrees,   ///< a participant of the gossip has another configuration than this node
  security,           ///< connections are not protected, or the secrets that protect them have changed
  not_authorised,     ///< a caller may not use the function or service that it has asked for
  answers_missing,    ///< a peer works at fewer requests than wait for it here, which is a bug
  group_created,      ///< this node holds a new group
  group_ended,        ///< a group that this node held has ended
  group_revoked,      ///< a group that this node holds was revoked
};
inline constexpr std::size_t node_event_kinds = 20;

/// The name of a kind, such as "session_lost".
std::string_view to_string(node_event_kind kind) noexcept;

/// One event in the life of a node.
struct node_event {
  std::uint64_t number = 0;  ///< counts the node's events from 1
  time_point at{};           ///< on the clock of the node's executor
  node_event_kind kind{};
  log_level level{};
  node_id peer = 0;  ///< the peer, or the creator of the group; 0: unknown, or nobody
  std::string text;  ///< one line for a person
};

}  // namespace scoll
