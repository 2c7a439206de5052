#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gossip/event.hpp"
#include "gossip/snapshot.hpp"
#include "tools/gossipctl/cluster/config.hpp"
#include "transport/io/datagram.hpp"

namespace gossipctl {

using json = nlohmann::ordered_json;

/// Facts that a daemon knows besides the participant's own state.
struct daemon_facts {
  int pid = 0;
  double uptime_s = 0;
  double longest_gap_ms = 0;  ///< the longest delay of this process
  std::uint64_t injected_losses = 0;
  bool sealed = false;
  std::vector<std::uint32_t> key_ids;  ///< the first one seals messages
  std::uint64_t unknown_key = 0;
  scoll::transport::datagram_statistics port;                ///< of all rails together
  std::vector<scoll::transport::datagram_statistics> rails;  ///< by rail
};

/// Makes the answer of `status`: figures of the whole cluster, nothing per participant.
json status_json(const config& c, const scoll::gossip::snapshot& s, const daemon_facts& facts);
/// Makes the answer of `members`: one object per participant. Unknown numbers are null.
json members_json(const config& c, const scoll::gossip::snapshot& s);
json verdict_json(const config& c, const scoll::gossip::verdict& v);
json counters_json(const scoll::gossip::counters& counts);
json event_json(const config& c, const scoll::gossip::liveness_event& e, const scoll::gossip::verdict& now);
/// Contains everything: configuration, status, members and counters.
json dump_json(const config& c, const scoll::gossip::snapshot& s, const daemon_facts& facts);

/// Writes Prometheus' text format, version 0.0.4. Above 1,024 participants it leaves out the metrics per
/// participant.
std::string metrics_text(const config& c, const scoll::gossip::snapshot& s, const daemon_facts& facts);

}  // namespace gossipctl
