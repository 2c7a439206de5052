#pragma once

#include <cstdint>

#include "gossip/counters.hpp"

namespace gossipctl {

struct counter_row {
  const char* name;
  std::uint64_t scoll::gossip::counters::* value;
  const char* help;
};

/// The counters of a participant, for JSON and for metrics.
inline constexpr counter_row counter_table[] = {
    {"cycles", &scoll::gossip::counters::cycles, "Gossip cycles of this participant"},
    {"pings", &scoll::gossip::counters::pings, "Pings that cycles began with"},
    {"retries", &scoll::gossip::counters::retries, "Pings to others in a cycle without a reply"},
    {"other_rail", &scoll::gossip::counters::other_rail,
     "Pings on another own rail than the one that answered last"},
    {"answered", &scoll::gossip::counters::answered, "Pings that were answered"},
    {"cycles_without_reply", &scoll::gossip::counters::cycles_without_reply,
     "Cycles in which nobody answered"},
    {"messages_sent", &scoll::gossip::counters::messages_sent, "Messages sent"},
    {"bytes_sent", &scoll::gossip::counters::bytes_sent, "Bytes of messages sent"},
    {"send_failures", &scoll::gossip::counters::send_failures, "Messages refused by the port or the seal"},
    {"messages_received", &scoll::gossip::counters::messages_received, "Messages received"},
    {"bytes_received", &scoll::gossip::counters::bytes_received, "Bytes of messages received"},
    {"replies_sent", &scoll::gossip::counters::replies_sent, "Replies to pings"},
    {"merged", &scoll::gossip::counters::merged, "Messages whose entries were taken in"},
    {"unknown_address", &scoll::gossip::counters::unknown_address, "Dropped: from no participant"},
    {"malformed", &scoll::gossip::counters::malformed, "Dropped: truncated, altered or no message"},
    {"not_authentic", &scoll::gossip::counters::not_authentic, "Dropped: refused by the seal"},
    {"repeated", &scoll::gossip::counters::repeated, "Dropped: had been here before"},
    {"obsolete", &scoll::gossip::counters::obsolete, "Dropped: too many cycles old"},
    {"stale_incarnation", &scoll::gossip::counters::stale_incarnation, "Dropped: from an earlier life"},
    {"disagreeing", &scoll::gossip::counters::disagreeing, "Dropped: of another configuration"},
    {"other_version", &scoll::gossip::counters::other_version, "Dropped: of another version of the protocol"},
    {"not_running", &scoll::gossip::counters::not_running, "Heard in stealth and not answered"},
    {"alive_events", &scoll::gossip::counters::alive_events, "Participants found alive"},
    {"dead_events", &scoll::gossip::counters::dead_events, "Participants found dead"},
    {"rebooted_events", &scoll::gossip::counters::rebooted_events, "Participants found in a new life"},
    {"gaps", &scoll::gossip::counters::gaps, "Jumps of this process or its clock"},
    {"heard_elsewhere", &scoll::gossip::counters::heard_elsewhere,
     "Participants that were heard by other means than the gossip"},
    {"withheld_cycles", &scoll::gossip::counters::withheld_cycles, "Cycles without verdicts"},
    {"clock_held", &scoll::gossip::counters::clock_held, "Ticks skipped because all others were behind"},
    {"clock_clipped", &scoll::gossip::counters::clock_clipped,
     "Messages whose clock was not followed to its end"},
};

}  // namespace gossipctl
