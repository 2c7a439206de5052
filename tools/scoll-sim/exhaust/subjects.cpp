#include "tools/scoll-sim/exhaust/subjects.hpp"

#include <array>

#include "tools/scoll-sim/exhaust/agree_check.hpp"
#include "tools/scoll-sim/exhaust/bulk_check.hpp"
#include "tools/scoll-sim/exhaust/groups_check.hpp"
#include "tools/scoll-sim/exhaust/kill_check.hpp"
#include "tools/scoll-sim/exhaust/rails_check.hpp"
#include "tools/scoll-sim/exhaust/revoke_graph.hpp"

namespace scoll::sim {

std::span<const exhaust_subject> exhaust_subjects() {
  static constexpr std::array all{
      exhaust_subject{"agree",
                      "an agreement: every order, loss and verdict among three members, and every moment of "
                      "a death among nodes",
                      &exhaust_agree},
      exhaust_subject{"bulk",
                      "broadcasts with bulk data to up to 17 members: each of them dies after each step, or "
                      "alters each piece",
                      &exhaust_bulk},
      exhaust_subject{"groups", "groups of up to 17 members: each of them dies at each step",
                      &exhaust_groups},
      exhaust_subject{
          "kill",
          "a broadcast to up to 33 members, with each policy: each of them is killed, or called dead "
          "wrongly, at each step",
          &exhaust_kill},
      exhaust_subject{"kill-two", "the same with two members, at each pair of steps or at drawn ones",
                      &exhaust_kill_two},
      exhaust_subject{"rails",
                      "calls and bulk data among 4 nodes with two rails: a rail dies after each frame",
                      &exhaust_rails},
      exhaust_subject{"revoke", "a revoke: up to 10 members, every set of dead that the graph bears",
                      &exhaust_revoke},
  };
  return all;
}

}  // namespace scoll::sim
