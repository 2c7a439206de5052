#pragma once

#include <nlohmann/json.hpp>

#include "../services/clients.hpp"
#include "../services/df.hpp"
#include "../services/find.hpp"
#include "../services/ingest.hpp"
#include "../services/install.hpp"
#include "../services/layout.hpp"
#include "../services/maintenance.hpp"
#include "../services/object_io.hpp"
#include "../services/progress.hpp"
#include "../services/scrub.hpp"
#include "../services/top.hpp"
#include "answer.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/tree/choose.hpp"

/// These functions turn the answers of the control socket into JSON; README.md describes it.
namespace shard {

using nlohmann::json;

json to_json(const scoll::error& e);
/// Writes "status", "outcome" and "absent" of an answer, with node ids in place of ranks.
json to_json(const answer_account& account);

json to_json(const clients::reply& value, const scoll::membership& members);
json to_json(const df::reply& value, const scoll::membership& members);
json to_json(const scrub::reply& value, const scoll::membership& members);
json to_json(const progress::reply& value, const scoll::membership& members);
json to_json(const find::reply& value, const scoll::membership& members);
json to_json(const top::reply& value, const scoll::membership& members);
json to_json(const ingest::reply& value, const scoll::membership& members);
json to_json(const install::reply& value, const scoll::membership& members);
json to_json(const layout::reply& value, const scoll::membership& members);
json to_json(const maintenance::reply& value, const scoll::membership& members);
/// Times are in microseconds; "text" is the complete outcome for people.
json to_json(const scoll::tree_plan& plan);
json to_json(const std::string& name, scoll::node_id owner, const object_reply& value);

template <class Reply>
json to_json(const answer<Reply>& a) {
  json all = to_json(a.account);
  all["value"] = a.value ? to_json(*a.value, *a.account.members) : json();
  return all;
}

/// Makes the answer for a command that failed before any server was asked.
json failure(const scoll::error& why);

}  // namespace shard
