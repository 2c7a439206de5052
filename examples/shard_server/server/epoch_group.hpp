#pragma once

#include <cstdint>
#include <vector>

#include "../epochs/epoch_voters.hpp"
#include "../services/epochs.hpp"
#include "scoll/collective/end_condition.hpp"
#include "scoll/node.hpp"

namespace shard {

/// All servers of the cluster file, asked by broadcasts. A quorum is more than half of them, dead ones
/// included, so that any two have a server in common.
class epoch_group final : public epoch_voters {
 public:
  epoch_group(scoll::node& self, std::uint32_t servers);

  /// Error, besides those of a broadcast: `incomplete` (the servers that are held alive are not enough).
  scoll::task<scoll::result<epoch_reply>> ask(const epoch_request& request, scoll::stop_token stop) override;
  scoll::task<scoll::status> tell(const epoch_request& request, scoll::stop_token stop) override;

 private:
  scoll::task<scoll::bcast_result<epoch_reply>> broadcast(const epoch_request& request,
                                                          scoll::bcast_options options, std::uint32_t needed);

  scoll::node& self_;
  std::vector<scoll::quorum_set> quorum_;
};

}  // namespace shard
