#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gossip/event.hpp"
#include "gossip/snapshot.hpp"
#include "tools/gossipctl/cluster/config.hpp"
#include "transport/io/datagram.hpp"

namespace gossipctl {

using json = nlohmann::ordered_json;

/// What a daemon knows beside the participant's own state.
struct daemon_facts {
  int pid = 0;
  double uptime_s = 0;
  double longest_gap_ms = 0;  ///< by which this process has come late at most
  std::uint64_t injected_losses = 0;
  bool sealed = false;
  std::vector<std::uint32_t> key_ids;  ///< the first seals
  std::uint64_t unknown_key = 0;
  scoll::transport::datagram_statistics port;
};

/// What `status` answers: the figures of the whole, nothing per participant.
json status_json(const config& c, const scoll::gossip::snapshot& s, const daemon_facts& facts);
/// What `members` answers: one object per participant. Numbers that are not known are null.
json members_json(const config& c, const scoll::gossip::snapshot& s);
json verdict_json(const config& c, const scoll::gossip::verdict& v);
json counters_json(const scoll::gossip::counters& counts);
json event_json(const config& c, const scoll::gossip::liveness_event& e, const scoll::gossip::verdict& now);
/// Everything: configuration, status, members and counters.
json dump_json(const config& c, const scoll::gossip::snapshot& s, const daemon_facts& facts);

/// Prometheus' text format, version 0.0.4. Beyond 1,024 participants nothing is told of each of them.
std::string metrics_text(const config& c, const scoll::gossip::snapshot& s, const daemon_facts& facts);

}  // namespace gossipctl
