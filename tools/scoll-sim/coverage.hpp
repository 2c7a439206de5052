#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scoll::sim {

/// Things that the swarm draws and that must also be seen to happen.
enum class mark : std::uint8_t {
  created_group,            ///< a broadcast to a created group was merged
  adopted_group,            ///< a broadcast to an adopted group was merged
  membership_differs,       ///< a member answered that it holds another membership
  group_unknown,            ///< a member answered that it does not hold the group
  entities,                 ///< entities were counted
  hand_made_subset,         ///< a subset chosen by hand was merged
  alive_subset,             ///< a subset of the living left somebody out
  dissent,                  ///< a member took part and saw other members alive
  view_differs,             ///< a member refused because it saw other members alive
  dead_refused,             ///< a broadcast was refused because members were dead
  dead_tried,               ///< a broadcast went to the others
  other_version,            ///< a member did not understand the request, and its subtree was merged
  several_values,           ///< such a member passed several values on
  coroutine_hooks,          ///< hooks that are coroutines ran
  plain_hooks,              ///< hooks that are plain functions ran
  brief_service,            ///< a short execute was merged
  extended_bound,           ///< a member took longer than the first bound and was merged
  user_tree,                ///< a broadcast ran over a tree of the program's own
  greedy_tree,              ///< a broadcast ran over a greedy tree
  zoned_tree,               ///< a broadcast ran over a zoned tree, from zone to zone
  zoned_subset,             ///< so did one that was for some members only
  brimful_reply,            ///< a reply of exactly the capacity was merged
  oversized_reply,          ///< a reply beyond the capacity was refused
  reply_refused,            ///< `finish` refused a merged reply
  table_full,               ///< a request was refused because a table was full
  call_beside_broadcast,    ///< a call and a broadcast went between two hosts at one time
  bulk_beside_broadcast,    ///< so did a call that moves bulk data
  bulk_transport_lost,      ///< a transfer failed because the transport of bulk data was lost
  calls_survive_bulk,       ///< during such an outage a call between the same hosts succeeded
  creation_after_end,       ///< a creation arrived when its group was to be forgotten already
  old_group,                ///< a broadcast to a group older than two leases was merged
  earlier_life_refused,     ///< a request of an earlier life of its root was refused
  repeated_refused,         ///< a repeated request was refused
  stranger_refused,         ///< a request of a stranger was refused
  repeated_connection,      ///< a connection attempt arrived twice
  crossing_connections,     ///< two hosts connected to each other at one time
  gossip,                   ///< the nodes followed a gossip
  gossip_death,             ///< the gossip told of a death
  gossip_return,            ///< the gossip told of a later life
  gossip_error,             ///< the gossip told of the death of a living host
  gossip_doubted,           ///< a node asked a peer over its connections before it believed its death
  gossip_rescued,           ///< such a peer answered, and lives on
  gossip_hold,              ///< a broadcast waited until its root took part in the gossip
  invented_death,           ///< a death was invented, or told too late
  destroy_missed,           ///< `destroy` could not tell every member at once
  last_waited,              ///< a last broadcast waited for an earlier one, and was merged
  last_ended_group,         ///< the last broadcast of a creator ended the group
  after_the_last,           ///< a broadcast was refused because its root had begun its last
  delayed_group,            ///< a broadcast to a delayed group was merged
  asked_again,              ///< a member did not hold a delayed group, and was asked once more
  settled_group,            ///< a delayed group was settled
  pulled_members,           ///< a broadcast to a group was merged whose members no message holds
  mapped_group,             ///< a broadcast to a group was merged whose members services name
  slow_mapper,              ///< a service took its time to name them
  admission_waited,         ///< a request waited until its group was known
  admission_full,           ///< a request was refused because too many waited
  admission_late,           ///< the group of a request was not known in time
  agreed,                   ///< an agreement had an outcome
  agreed_without,           ///< some members failed in it
  agreed_by_few,            ///< survivors agreed, no more than half of the members
  agree_excluded,           ///< a member heard that it had failed
  agree_undecided,          ///< a call of an agreement or a shrink ended without an outcome
  agree_no_quorum,          ///< so did one because too many members were held dead
  shrunk,                   ///< a group of fewer members was made
  shrunk_by_few,            ///< a group of no more than half of the members was made
  shrink_excluded,          ///< a member heard that the others had gone on without it
  shrunk_group,             ///< a broadcast to a shrunk group was merged
  revoked,                  ///< a revoke ended a broadcast, or kept it from beginning
  revoked_by_two,           ///< two hosts revoked a group at nearly one time
  revoked_before_creation,  ///< a creation failed because its group was revoked before it was complete
  revoke_owed,              ///< a revoke owed its notice to a member that was held dead
  call_revoked,             ///< a revoke ended a call that was made through the group
  call_ended_with_group,    ///< the end of a group ended a call that was made through it
  outlived_creator,         ///< a broadcast to a group was merged after the death of its creator
  inner_group,              ///< a broadcast to a group within another one was merged
  freight,                  ///< the bulk data of a broadcast reached a member
  freight_spoiled,          ///< a member refused a chunk, and others got all of them
  freight_without_place,    ///< a member gave no place, and had no slots
  freight_passed,           ///< bulk data passed through the slots of a member that executed
  freight_left_behind,      ///< a member that stood still failed, and others got all bulk data through slots
  freight_beside_fault,     ///< bulk data failed on some member, and others got all of it
  freight_went_up,          ///< a member had lost a source, and ordered pieces from an ancestor
  freight_stranger,         ///< a host that gets no bulk data from a member asked for it and was refused
  freight_stale_order,      ///< an order for bulk data whose place had come back was refused
  inner_revoked,            ///< a broadcast to such a group ended by a revoke of the other one
  read_by_right,            ///< hardware read the memory of a peer
  read_registered,          ///< a transfer between registered memories succeeded
  right_recalled,           ///< a right was recalled
  withdrawn_while_read,     ///< a transfer failed because registered memory was withdrawn meanwhile
  stopped_while_read,       ///< a transfer into registered memory was stopped
  given_up_silent,          ///< a session ended because its peer answered no probe
  connection_replaced,      ///< a connection that carried nothing was replaced
  client_served,            ///< a call of a client was answered
  client_memory_moved,      ///< a server read or wrote the memory of a client
  client_busy,              ///< a client was refused because there was no place
  client_silent,            ///< a client fell silent, and its session ended
  client_gone,              ///< the place of a client became free
  client_broadcast,         ///< a broadcast that a member made for a client was merged
  rail_altered,             ///< a connection of one of several rails broke because bytes were altered
  rail_uneven,              ///< messages went by a rail that was narrow or slow
  rail_crossed,             ///< a connection arrived at another rail than it named
  rail_switched,            ///< messages went by another rail while a switch was down
  rail_flapped,             ///< a path died or was suspected four times
  rail_opposite,            ///< calls waited for a host whose rails dropped what went one way
  rail_dead,                ///< a host's own rail was called dead
  rail_alive,               ///< such a rail was called alive again
  rail_hinted,              ///< a rail was connected by because its interface told that it was back
  rail_returned,            ///< a rail that had just come back was used because the other one fell silent
  bulk_striped,             ///< bulk data went by several paths at once
  memory_moved,             ///< a transfer went on while rails failed
  landing_cut,              ///< a copy of a message was cut off, because another one landed or had arrived
  cancel_held,              ///< a cancel waited for messages that it had overtaken
  rail_guarded,             ///< the connections of several rails were guarded
  rail_record_altered,      ///< a guard found altered bytes, and its connection broke
  rail_keys_changed,        ///< rails were connected while the key was changed
  rail_other_node,          ///< an outsider with the certificate of another node was turned away
  rail_outsider,            ///< an outsider came to a host with several rails and was turned away
  id_refused,            ///< a server with an id that is taken was told so, and so was the one that it asked
  device_link,           ///< a rail was made by RDMA
  device_read,           ///< a device read the memory of a peer
  device_window,         ///< memory was read by a memory window
  device_without_reads,  ///< a device could register no memory, and bulk data travelled in messages
  device_port_down,      ///< the port of a device went down
  device_port_silent,    ///< likewise, and no event said so
  device_failed,         ///< a device failed
  device_refused,        ///< a device took only the beginning of a list
  device_unheard,        ///< messages arrived, and their acknowledgements did not
  several_rails,         ///< the nodes of a cluster had several rails
  rail_left,             ///< messages of a node went over from one rail to another
  rail_lost,             ///< a node called one of its own rails dead
  guarded,               ///< a guard was proven
  guard_of_four_rounds,  ///< likewise, by the longest handshake
  guard_in_parts,        ///< what a side said in a handshake took several steps
  guard_by_other_key,    ///< a connection was made with another key than the first one of the ring
  keys_changed,          ///< all hosts have given up the first key
  handshake_altered,     ///< a proof was wrong because bytes were altered
  handshake_forged,      ///< a hello or a step was altered, with the right checksums
  record_altered,        ///< a record was altered
  outsider_without_proof,  ///< an outsider that gave no proof was turned away
  outsider_wrong_secret,   ///< so was one that had another secret
  outsider_unknown_key,    ///< and one with a key that was never in the ring
  outsider_removed_key,    ///< and one with the key that was given up
  outsider_replay,         ///< and one that repeated what a node had said
  outsider_silent,         ///< and one that stopped
  outsider_cut,            ///< and one that hung up
  outsider_downgrade,      ///< and one that offered to do without a guard
  outsider_endless,        ///< and one that came to no end
  outsider_overlong,       ///< and one whose step was too long
  outsiders_crowded,       ///< outsiders were turned away because there were too many
  outsiders_owe_proofs,    ///< so were some whose predecessors had hung up in their handshakes
  failed_fast,             ///< the failure of a member ended a broadcast that others still worked at
  loss_in_part,            ///< a member told of others ahead of its answer
  quorum_early,            ///< a quorum was merged while others were pending
  quorum_in_sets,          ///< so was one in each of two sets
  quorum_failed,           ///< a quorum could not be reached any more
  late_executed,           ///< a member executed that was pending when a quorum was merged
  stragglers_stopped,      ///< pending members were told to stop
  traced,                  ///< a trace shows a member below another one than the root
  trace_silent,            ///< a trace shows a member that did not answer
  trace_shortened,         ///< a clock was so much faster that work did not fit its exchange
  repair_round,            ///< members were asked in a further round of a broadcast
  freight_again,           ///< a further round has offered bulk data once more
  round_repeated,          ///< a member that had the request was asked again
  lives_named,             ///< a broadcast that is repaired was merged in a group that a new life can enter
  life_asked_again,     ///< a member of such a group executed in a further round, in the life that is named
  parts_memory_full,    ///< a request was refused because there was no memory for parts of replies
  kept_memory_full,     ///< likewise, for a reply that is kept
  other_life_asked,     ///< so did one in a life that its root had not known when the broadcast began
  streamed,             ///< the items of several members were read to their end
  stream_held_back,     ///< a member had to wait before it could put an item
  stream_cut,           ///< a member that was lost had some items before
  stream_passed_relay,  ///< items came through a member that serves another version
  stream_left,          ///< the root stopped reading
  stream_collected,     ///< items were collected
  stream_over_limit,    ///< there were more than that may be
  stream_memory_full,   ///< a stream was refused because there was no memory for its parts
  stream_revoked,       ///< a stream was revoked when some items had come
};
inline constexpr std::size_t marks = static_cast<std::size_t>(mark::stream_revoked) + 1;
/// True for what happens only where some hosts are clients: in the workload `ship`.
constexpr bool is_of_clients(mark m) noexcept {
  return m >= mark::client_served && m <= mark::client_broadcast;
}
/// True for what happens only in the workload `rails`.
constexpr bool is_of_rails(mark m) noexcept {
  return m >= mark::rail_altered && m <= mark::id_refused;
}

/// True for what happens only in the workload `failures`.
constexpr bool is_of_failures(mark m) noexcept {
  return m >= mark::failed_fast && m <= mark::other_life_asked;
}

/// True for what happens only in the workload `streams`.
constexpr bool is_of_streams(mark m) noexcept {
  return m >= mark::streamed && m <= mark::stream_revoked;
}

/// True for what happens only in the workload `verbs`.
constexpr bool is_of_devices(mark m) noexcept {
  return m >= mark::device_link && m <= mark::device_unheard;
}

std::string_view to_string(mark m) noexcept;

/// In how many runs each thing was seen.
class coverage {
 public:
  void saw(mark m) noexcept { counts_[static_cast<std::size_t>(m)] = 1; }
  void saw(mark m, bool happened) noexcept {
    if (happened) saw(m);
  }
  std::uint32_t runs_with(mark m) const noexcept { return counts_[static_cast<std::size_t>(m)]; }
  void add(const coverage& other) noexcept {
    for (std::size_t i = 0; i < marks; ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::uint32_t, marks> counts_{};
};

}  // namespace scoll::sim
