#include "tools/scoll-sim/coverage.hpp"

namespace scoll::sim {

std::string_view to_string(mark m) noexcept {
  using enum mark;
  switch (m) {
    case created_group: return "created group";
    case adopted_group: return "adopted group";
    case membership_differs: return "membership differs";
    case group_unknown: return "group unknown";
    case entities: return "entities";
    case hand_made_subset: return "hand made subset";
    case alive_subset: return "alive subset";
    case dissent: return "dissent";
    case view_differs: return "view differs";
    case dead_refused: return "dead refused";
    case dead_tried: return "dead tried";
    case other_version: return "other version";
    case several_values: return "several values";
    case coroutine_hooks: return "coroutine hooks";
    case plain_hooks: return "plain hooks";
    case brief_service: return "brief service";
    case extended_bound: return "extended bound";
    case user_tree: return "user tree";
    case greedy_tree: return "greedy tree";
    case brimful_reply: return "brimful reply";
    case oversized_reply: return "oversized reply";
    case reply_refused: return "reply refused";
    case table_full: return "table full";
    case call_beside_broadcast: return "call beside broadcast";
    case bulk_beside_broadcast: return "bulk beside broadcast";
    case bulk_transport_lost: return "bulk transport lost";
    case calls_survive_bulk: return "calls survive bulk";
    case creation_after_end: return "creation after end";
    case old_group: return "old group";
    case earlier_life_refused: return "earlier life refused";
    case repeated_refused: return "repeated refused";
    case stranger_refused: return "stranger refused";
    case repeated_connection: return "repeated connection";
    case crossing_connections: return "crossing connections";
    case gossip: return "gossip";
    case gossip_death: return "gossip death";
    case gossip_return: return "gossip return";
    case gossip_error: return "gossip error";
    case gossip_doubted: return "gossip doubted";
    case gossip_rescued: return "gossip rescued";
    case gossip_hold: return "gossip hold";
    case invented_death: return "invented death";
    case destroy_missed: return "destroy missed";
    case last_waited: return "last waited";
    case last_ended_group: return "last ended group";
    case after_the_last: return "after the last";
    case delayed_group: return "delayed group";
    case asked_again: return "asked again";
    case settled_group: return "settled group";
    case pulled_members: return "pulled members";
    case mapped_group: return "mapped group";
    case slow_mapper: return "slow mapper";
    case admission_waited: return "admission waited";
    case admission_full: return "admission full";
    case admission_late: return "admission late";
    case agreed: return "agreed";
    case agreed_without: return "agreed without";
    case agreed_by_few: return "agreed by few";
    case agree_excluded: return "agree excluded";
    case agree_undecided: return "agree undecided";
    case agree_no_quorum: return "agree no quorum";
    case shrunk: return "shrunk";
    case shrunk_by_few: return "shrunk by few";
    case shrink_excluded: return "shrink excluded";
    case shrunk_group: return "shrunk group";
    case revoked: return "revoked";
    case revoked_by_two: return "revoked by two";
    case revoked_before_creation: return "revoked before creation";
    case revoke_owed: return "revoke owed";
    case call_revoked: return "call revoked";
    case call_ended_with_group: return "call ended with group";
    case outlived_creator: return "outlived creator";
    case inner_group: return "inner group";
    case freight: return "freight";
    case freight_spoiled: return "freight spoiled";
    case freight_without_place: return "freight without place";
    case freight_passed: return "freight passed";
    case freight_left_behind: return "freight left behind";
    case freight_beside_fault: return "freight beside fault";
    case freight_stranger: return "freight stranger";
    case freight_stale_order: return "freight stale order";
    case inner_revoked: return "inner revoked";
    case read_by_right: return "read by right";
    case read_registered: return "read registered";
    case right_recalled: return "right recalled";
    case withdrawn_while_read: return "withdrawn while read";
    case stopped_while_read: return "stopped while read";
    case given_up_silent: return "given up silent";
    case connection_replaced: return "connection replaced";
    case client_served: return "client served";
    case client_memory_moved: return "client memory moved";
    case client_busy: return "client busy";
    case client_silent: return "client silent";
    case client_gone: return "client gone";
  }
  return "?";
}

}  // namespace scoll::sim
