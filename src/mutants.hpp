#pragma once

#include <cstdint>
#include <string_view>

/// Deliberate bugs, by which the simulator is checked: each has to be found by one of its properties
/// (docs/simulator.md). `SCOLL_MUTANT(name)` is the constant `false` but in the build that is made for this,
/// with `SCOLL_MUTANTS` defined, where at most one is switched on at a time.
#ifdef SCOLL_MUTANTS
#define SCOLL_MUTANT(name) (::scoll::mutants::active == ::scoll::mutants::id::name)
#else
#define SCOLL_MUTANT(name) false
#endif

namespace scoll::mutants {

enum class id : std::uint8_t {
  none,
  double_merge,
  lost_credit,
  credit_twice,
  forgotten_subtree,
  off_by_one_tree,
  timeout_without_cascade,
  margin_not_kept,
  timer_not_armed,
  stale_hello,
  reboot_not_noticed,
  old_session_joined,
  reply_after_retire,
  duplicates_delivered,
  no_replay_window,
  wrong_parent_accepted,
  replay_forgotten,
  retained_kept,
  acknowledges_ahead,
  checksum_unchecked,
  lost_peer_unreported,
  cancel_not_sent,
  stop_unheard,
  abort_not_forwarded,
  taken_back_and_sent,
  answer_dropped,
  clean_flag_wrong,
  unknown_as_not_reached,
  executed_by_hearsay,
  lost_reply_forgotten,
  relative_ranks_reported,
  forwards_though_refused,
  reply_bound_ignored,
  table_unbounded,
  queue_unbounded,
  request_kept,
  group_kept,
  failed_creation_kept,
  group_outlives_creator,
  death_unheard,
  dead_are_asked,
  old_death_believed,
  subset_forgotten,
  gossip_clock_unguarded,
  gossip_no_stealth,
  gossip_clock_plain,
  gossip_threshold_low,
  gossip_silence_unnoticed,
  gossip_digest_unchecked,
  gossip_stale_incarnation,
  gossip_obsolete_accepted,
  gossip_reboot_unnoticed,
  gossip_delay_ignored,
  gossip_merge_overwrites,
  gossip_wrong_owner,
};

struct description {
  id which;
  std::string_view name;
  std::string_view what;
};

#define SCOLL_NAMED_MUTANT(name) id::name, #name
inline constexpr description all[] = {
    {SCOLL_NAMED_MUTANT(double_merge), "a child's value is merged twice"},
    {SCOLL_NAMED_MUTANT(lost_credit), "a refused request keeps its credit"},
    {SCOLL_NAMED_MUTANT(credit_twice), "a request gives its credit back twice"},
    {SCOLL_NAMED_MUTANT(forgotten_subtree), "of a child that is lost the subtree is left out of the account"},
    {SCOLL_NAMED_MUTANT(off_by_one_tree), "the last member of a tree is nobody's child"},
    {SCOLL_NAMED_MUTANT(timeout_without_cascade), "a child is awaited as if it had no subtree"},
    {SCOLL_NAMED_MUTANT(margin_not_kept), "a member uses all of the time that its parent has"},
    {SCOLL_NAMED_MUTANT(timer_not_armed), "no timer watches over an operation"},
    {SCOLL_NAMED_MUTANT(stale_hello), "the hello of an earlier life is accepted"},
    {SCOLL_NAMED_MUTANT(reboot_not_noticed), "a peer's new life goes on with the session of the old one"},
    {SCOLL_NAMED_MUTANT(old_session_joined), "a hello is taken to be of the present session"},
    {SCOLL_NAMED_MUTANT(reply_after_retire), "a reply finds whoever uses the slot of its exchange by now"},
    {SCOLL_NAMED_MUTANT(duplicates_delivered),
     "what has arrived is sent again on a new connection, and delivered"},
    {SCOLL_NAMED_MUTANT(no_replay_window), "an operation that was here before is admitted again"},
    {SCOLL_NAMED_MUTANT(wrong_parent_accepted), "requests are taken from anybody"},
    {SCOLL_NAMED_MUTANT(replay_forgotten), "what was not acknowledged is not sent again on a new connection"},
    {SCOLL_NAMED_MUTANT(retained_kept), "what is acknowledged is kept"},
    {SCOLL_NAMED_MUTANT(acknowledges_ahead), "one message more is acknowledged than has arrived"},
    {SCOLL_NAMED_MUTANT(checksum_unchecked), "heads and payloads are not checked"},
    {SCOLL_NAMED_MUTANT(lost_peer_unreported), "who waits for a peer that is lost is not told"},
    {SCOLL_NAMED_MUTANT(cancel_not_sent), "nobody is told that an answer is not wanted any more"},
    {SCOLL_NAMED_MUTANT(stop_unheard), "the caller's stop token is not heard"},
    {SCOLL_NAMED_MUTANT(abort_not_forwarded), "an abort stops at the children of the root"},
    {SCOLL_NAMED_MUTANT(taken_back_and_sent), "a request that is taken back leaves all the same"},
    {SCOLL_NAMED_MUTANT(answer_dropped), "a subtree that is not clean drops its answer"},
    {SCOLL_NAMED_MUTANT(clean_flag_wrong), "a member is clean though it failed itself"},
    {SCOLL_NAMED_MUTANT(unknown_as_not_reached), "a child that had the request is reported as not reached"},
    {SCOLL_NAMED_MUTANT(executed_by_hearsay), "a hook that has not returned is reported as executed"},
    {SCOLL_NAMED_MUTANT(lost_reply_forgotten), "a lost reply loses this member's part only"},
    {SCOLL_NAMED_MUTANT(relative_ranks_reported), "the account speaks of relative ranks"},
    {SCOLL_NAMED_MUTANT(forwards_though_refused), "what `prepare` refused is forwarded"},
    {SCOLL_NAMED_MUTANT(reply_bound_ignored), "a reply may be larger than was announced"},
    {SCOLL_NAMED_MUTANT(table_unbounded), "the table of operations grows without end"},
    {SCOLL_NAMED_MUTANT(queue_unbounded), "the queue of requests grows without end"},
    {SCOLL_NAMED_MUTANT(request_kept), "an operation that has ended keeps its request"},
    {SCOLL_NAMED_MUTANT(group_kept), "one member does not drop a group that is destroyed"},
    {SCOLL_NAMED_MUTANT(failed_creation_kept),
     "a member keeps a group that its creator does not know any more"},
    {SCOLL_NAMED_MUTANT(group_outlives_creator), "a group stays when its creator has died"},
    {SCOLL_NAMED_MUTANT(death_unheard), "who waits for a node goes on when it is called dead"},
    {SCOLL_NAMED_MUTANT(dead_are_asked), "requests to a node that is called dead are queued"},
    {SCOLL_NAMED_MUTANT(old_death_believed),
     "the death of an earlier life is taken for that of the present one"},
    {SCOLL_NAMED_MUTANT(subset_forgotten), "the account of a subset speaks of the first ranks of the group"},
    {SCOLL_NAMED_MUTANT(gossip_clock_unguarded), "the cluster clock follows whoever is ahead"},
    {SCOLL_NAMED_MUTANT(gossip_no_stealth), "a start is not silent"},
    {SCOLL_NAMED_MUTANT(gossip_clock_plain), "the cluster clock goes on with every message"},
    {SCOLL_NAMED_MUTANT(gossip_threshold_low), "a threshold of four cycles"},
    {SCOLL_NAMED_MUTANT(gossip_silence_unnoticed), "verdicts are given though nobody answers"},
    {SCOLL_NAMED_MUTANT(gossip_digest_unchecked), "entries of another configuration are merged"},
    {SCOLL_NAMED_MUTANT(gossip_stale_incarnation), "messages of an earlier life are accepted"},
    {SCOLL_NAMED_MUTANT(gossip_obsolete_accepted), "messages that are too old are merged"},
    {SCOLL_NAMED_MUTANT(gossip_reboot_unnoticed), "another life is taken for the one before"},
    {SCOLL_NAMED_MUTANT(gossip_delay_ignored), "heard ages are taken as if clocks were equal"},
    {SCOLL_NAMED_MUTANT(gossip_merge_overwrites), "heard ages replace fresher ones"},
    {SCOLL_NAMED_MUTANT(gossip_wrong_owner), "a message counts as heard from the next participant"},
};
#undef SCOLL_NAMED_MUTANT

/// The one that is switched on. Set before anything runs.
inline id active = id::none;

}  // namespace scoll::mutants
