#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/job.hpp"
#include "tools/scoll-sim/cluster/stream_record.hpp"
#include "tools/scoll-sim/plan/events.hpp"

namespace scoll::sim {

struct life;

/// A host has revoked a group.
struct revoke_record {
  const life* by = nullptr;
  std::uint32_t reason = 0;
  nanoseconds at{0};                 ///< in the world's time
  bool done = false;                 ///< the await has ended
  std::vector<const life*> holders;  ///< those that held the group at that time
};

/// A group that some host tried to make, or that hosts adopted by themselves.
struct group_record {
  std::uint64_t number = 0;
  std::vector<std::uint32_t> members;  ///< hosts, by rank
  tree_spec tree;
  service_kind service = service_kind::bare;
  bool entities = false;
  std::uint32_t zones = 0;                ///< the zones of its members; 0: nothing is known of places
  std::chrono::microseconds deadline{0};  ///< of the creation; 0: the usual one
  std::optional<group_id> id;             ///< once it exists
  error failure;                          ///< why it could not be created
  std::uint32_t maker = 0;                ///< the host that was told to create it
  const life* creator = nullptr;
  nanoseconds created{0};                ///< in the world's time
  bool ending = false;                   ///< its end has been requested
  std::vector<const life*> enders;       ///< the lives that asked for it
  nanoseconds asked{0};                  ///< when the latest of them did
  std::optional<nanoseconds> destroyed;  ///< when it was gone from all members
  std::optional<events::adopt> adopted;  ///< how, if it was not created
  std::optional<events::mapped> mapped;  ///< how, if services name its members
  membership_ptr shared;                 ///< of an adopted or mapped group
  bool delayed = false;
  bool large = false;
  bool lasting = false;                 ///< it does not end with its creator
  const group_record* outer = nullptr;  ///< the group within which it is
  const group_record* like = nullptr;   ///< the group that it was made of, whose entities it has
  /// The number of the group whose survivors this one has; it does not end with its creator.
  std::optional<std::uint64_t> shrunk_from;
  std::vector<revoke_record> revokes;  ///< as they were asked for

  /// True if somebody has revoked it, or a group within which it is.
  bool is_revoked() const noexcept { return !revokes.empty() || (outer != nullptr && outer->is_revoked()); }
  /// Whose host came to it first. There is one.
  const revoke_record& first_revoke() const {
    return *std::ranges::min_element(revokes, {}, &revoke_record::at);
  }
  /// True if its end has been requested, or that of a group within which it is.
  bool is_ending() const noexcept { return ending || (outer != nullptr && outer->is_ending()); }
  /// True if every member was made to know it. A survivor may hear of its group late, and a group ends on a
  /// member with the one within which it is.
  bool known_to_all() const noexcept {
    if (outer != nullptr) return false;
    if (mapped) return mapped->dissenters.empty();
    if (shrunk_from) return false;
    return !adopted || (adopted->holders == adopted->members && adopted->dissenters.empty());
  }
  bool created_by_a_host() const noexcept { return !adopted && !mapped; }
  /// True if a new life of a member can take part in what an earlier one has seen.
  bool admits_new_lives() const noexcept { return !created_by_a_host() || delayed; }
  std::uint32_t entities_at(std::uint32_t host) const noexcept {
    constexpr std::uint32_t more_than_a_message_holds = 500;
    if (like != nullptr) return like->entities_at(host);
    const std::uint32_t few = entities ? entities_of(number, host) : 0;
    const auto count = static_cast<std::uint32_t>(members.size());
    return large ? few + more_than_a_message_holds / count + 1 : few;
  }
  member_place place_at(std::uint32_t host) const noexcept {
    return like != nullptr ? like->place_at(host) : place_of(number, host, zones);
  }
};

/// The executions of one member, over all lives of its host.
struct member_record {
  std::uint32_t begun = 0;
  std::uint32_t contributed = 0;
  const life* executor = nullptr;  ///< the life that executed it last
  nanoseconds last_begun{0};       ///< in the world's time
  nanoseconds last_left{0};
  nanoseconds most_left{0};       ///< the longest time that it was given
  std::uint32_t crossings = 0;    ///< the children in other zones that it sent to when it executed last
  bool near_first = false;        ///< it sent to one of them after a child in its own zone
  bool after_revoke = false;      ///< it executed although its group was revoked there
  bool dissents = false;          ///< it saw others alive than the broadcast addresses, from its beginning on
  bool wavers = false;            ///< its view changed after the beginning
  bool by_another_round = false;  ///< it executed in a further round
};

struct broadcast_record {
  std::uint64_t number = 0;
  const group_record* group = nullptr;
  const life* root = nullptr;
  std::uint32_t root_rank = 0;
  std::vector<std::uint32_t> addressed;  ///< the ranks that it addresses
  std::uint32_t root_place = 0;          ///< of the root among them
  nanoseconds began{0};                  ///< in the world's time
  nanoseconds ended{0};
  nanoseconds took{0};   ///< by the root's clock
  nanoseconds bound{0};  ///< for all of it
  nanoseconds cancelled_at{0};
  bool dead_known = false;  ///< its root knew that some of those that it addresses were dead
  number_set known;         ///< if it names lives: the ranks whose present one its root knew at first
  bool held = false;        ///< it had to wait until the root may begin broadcasts
  bool stray = false;       ///< no member may execute it
  bool too_late = false;    ///< its root had begun its last broadcast to the group when this one ended
  bool waits = false;       ///< it is a last one, and earlier ones of its root had not ended when it began
  bool overtook = false;    ///< it is a last one, and a member executed it before an earlier one had ended
  bool cancelled = false;
  bool done = false;
  bool ended_by_crash = false;
  std::vector<member_record> members;
  job request;
  events::manner manner;
  bcast_options options;
  std::uint64_t counter = 0;  ///< the counter of its operation
  stop_source stop;
  // The result:
  status outcome_status;
  std::optional<tally> value;
  outcome account;
  /// The client for which the root broadcasts, and what that has heard. Without members in the outcome, the root
  /// has not answered it.
  const life* client = nullptr;
  bool may_have_executed = false;
  // With a condition:
  std::vector<quorum_set> sets;
  bool rest_done = false;
  nanoseconds rest_ended{0};
  outcome rest;
  bool value_changed = false;           ///< the value that was given out, by the end of the rest
  std::optional<stream_record> stream;  ///< if its members stream their replies
  // With a trace:
  collective_trace trace;           ///< at the end
  std::int64_t most_drift_ppm = 0;  ///< of the clocks of all hosts

  /// True if it ended because a member failed.
  bool failed_fast() const noexcept { return options.on_failure == fail_fast && !outcome_status; }
  /// True if its root ended it.
  bool was_stopped() const noexcept { return cancelled || (stream && stream->over); }
  bool has_condition() const noexcept { return !options.until.is_everyone(); }
  /// True if its requests say which lives may execute.
  bool names_lives() const noexcept { return options.on_failure == repair && group->admits_new_lives(); }
  /// The account at the end, and the time of that.
  const outcome& last_account() const noexcept { return rest_done ? rest : account; }
  nanoseconds last_ended() const noexcept { return rest_done ? rest_ended : ended; }
  bool is_unanswered() const noexcept { return client != nullptr && account.members() == 0; }
};

/// A delayed group all of whose members have answered a broadcast of one life.
struct told_group {
  const life* root = nullptr;
  const group_record* group = nullptr;
  std::uint64_t creations_sent = 0;  ///< by that life, so far
  std::size_t lives = 0;             ///< of all hosts, so far
};

/// A fault of the network or of a host that lasts for a time.
struct fault_record {
  number_set hosts;  ///< any path through one of these may suffer from it
  nanoseconds from{0};
  nanoseconds until{0};
  /// How long it may still explain a failure afterwards.
  static constexpr nanoseconds aftermath = std::chrono::seconds(10);
  bool stalls = false;     ///< the host itself stood still
  bool cuts_off = false;   ///< nothing passed between some of them
  bool alters = false;     ///< bytes were altered
  bool bulk_only = false;  ///< only the transport of bulk data suffers
  bool cut_only = false;   ///< a connection broke, and nothing else happened
  bool rail_only = false;  ///< one of several rails fails: everything goes on, if later

  /// True if no message is lost by it.
  bool spares_messages() const noexcept { return bulk_only || rail_only; }
  /// How long it went on after a moment.
  nanoseconds after(nanoseconds moment) const noexcept { return until - aftermath - std::max(from, moment); }
};

/// Two hosts have lost the transport of their bulk data until then.
struct outage {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  nanoseconds until{0};
};

/// The targets of a group, with the entities and the place of each member.
std::vector<target> targets_of(const group_record& g);
/// The tree of a group that is named by one parameter: of a zoned tree both are this one.
tree_spec with_one_parameter(std::uint8_t kind, std::uint32_t parameter);
/// The tree of a broadcast over the members that it addresses, as a second computation of what its members
/// have; nothing if it is none.
std::optional<any_tree> tree_of(const broadcast_record& b);
/// The same over all members of the group.
std::optional<any_tree> tree_over_all(const broadcast_record& b);

}  // namespace scoll::sim
