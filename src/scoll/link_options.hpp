#pragma once

#include "scoll/node_options.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::detail {

/// The options of a node's endpoint: `node_options::link` with the node's identity.
transport::endpoint_options link_options(const node_options& options);

}  // namespace scoll::detail
