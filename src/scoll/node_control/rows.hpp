#pragma once

#include <nlohmann/json.hpp>

#include "scoll/node.hpp"

namespace scoll::detail {

using json = nlohmann::ordered_json;

json peer_json(const peer_snapshot& p);
json group_json(const group_snapshot& g);
json operation_json(const operation_snapshot& o);
json function_json(const function_snapshot& f);
json call_json(const call_snapshot& c);
json resource_json(const resource_snapshot& r);
/// `not_authentic` are all refusals for that reason.
json security_json(const transport::security_snapshot& s, std::uint64_t not_authentic);
json event_json(const node& of, const node_event& e);

/// The text of a group's id: creator, incarnation and counter, joined by dots.
std::string text_of(const group_id& id);

}  // namespace scoll::detail
