#include "scoll/node_options.hpp"

#include "scoll/coro/error_format.hpp"
#include "scoll/link_options.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll {
transport::endpoint_options detail::link_options(const node_options& options) {
  transport::endpoint_options link = options.link;
  link.self = options.id;
  link.client = options.role == node_role::client;
  link.cluster = options.cluster;
  link.incarnation = options.incarnation;
  link.advertise = options.advertise;
  link.probe_first |= options.measured_rtt;
  return link;
}

status node_options::validate() const {
  if (!directory.empty() && incarnation == 0) {
    return error(errc::invalid_argument,
                 "call choose_incarnation() before you make a node that has a directory");
  }
  if (max_operations == 0) return error(errc::invalid_argument, "max_operations must be at least 1");
  if (max_pending_admissions == 0)
    return error(errc::invalid_argument, "max_pending_admissions must be at least 1");
  if (workers == 0 || worker_queue == 0)
    return error(errc::invalid_argument, "workers and worker_queue must be at least 1");
  if (rtt_estimate.count() <= 0 || level_margin.count() <= 0 || group_lease.count() <= 0) {
    return error(errc::invalid_argument, "rtt_estimate, level_margin and group_lease must be positive");
  }
  if (const tree_fault fault = check_tree(default_tree, 1); fault != tree_fault::none) {
    return error(errc::unknown_tree, describe(fault));
  }
  if (pinned_tree && check_tree(*pinned_tree, 1) != tree_fault::none)
    return make_error(errc::unknown_tree, "pinned_tree: {}", describe(check_tree(*pinned_tree, 1)));
  if (const tree_fault fault = check_tree(revoke_tree, 1); fault != tree_fault::none)
    return make_error(errc::unknown_tree, "revoke_tree: {}", describe(fault));
  if (bulk_least_rate == 0) return error(errc::invalid_argument, "bulk_least_rate must be positive");
  if (bulk_plan && check_bulk_plan(*bulk_plan) != bulk_plan_fault::none)
    return make_error(errc::invalid_argument, "bulk_plan: {}", describe(check_bulk_plan(*bulk_plan)));
  if (revoke_emission.count() <= 0) return error(errc::invalid_argument, "revoke_emission must be positive");
  if (const status s = ship.validate(); !s) return s;
  if (const status s = security.validate(); !s) return s;
  transport::endpoint_options links = detail::link_options(*this);
  if (links.client && id == 0) links.self = transport::client_bit;  // drawn when the node is made
  if (incarnation == 0) links.incarnation = 1;                      // chosen when the node is made
  return links.validate();
}

}  // namespace scoll
