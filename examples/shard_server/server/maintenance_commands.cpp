#include "maintenance_commands.hpp"

#include <algorithm>

#include "ask_group.hpp"
#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

using scoll::errc;

scoll::bcast_options limits_of(const command& c, scoll::stop_token stop) {
  scoll::bcast_options options;
  options.deadline = c.until;
  options.stop = stop;
  return options;
}

json none_under_way() {
  return failure({errc::not_found, "no maintenance is under way: begin one first"});
}

}  // namespace

scoll::task<json> maintenance_commands::run(const command& c, scoll::stop_token stop) {
  if (c.step == "begin") co_return co_await begin(c, stop);
  if (c.step == "end") co_return co_await end(c, stop);
  if (c.step == "show") co_return show();
  co_return failure(make_error(errc::invalid_argument, "there is no step '{}': begin, end or show", c.step));
}

scoll::task<json> maintenance_commands::begin(const command& c, scoll::stop_token stop) {
  if (c.note.size() > maintenance::longest_note) {
    co_return failure(make_error(errc::invalid_argument, "a note of {} bytes: at most {} are allowed",
                                 c.note.size(), maintenance::longest_note));
  }
  if (desk_.under_way()) {
    co_return failure(make_error(errc::already_exists, "node {} has begun a maintenance before: {}",
                                 desk_.begun_by(), desk_.note()));
  }
  scoll::group_options creation = all_.creation(c.until);
  creation.name = maintenance::name;
  const auto group = co_await self_.create_group<maintenance>(all_.servers(), creation);
  if (!group) {
    const auto nobody = co_await all_.nobody_asked<maintenance>(group.error(), stop);
    co_return described(nobody);
  }
  maintenance::request request;
  request.step = maintenance_step::begin;
  request.note = c.note;
  const auto answered = co_await ask_group<maintenance>(*group, request, limits_of(c, stop));
  if (!answered.account.ended) (co_await self_.destroy(*group)).ignore();  // no server stays closed
  co_return described(answered);
}

/// The last broadcast ends the group and so the maintenance, on each server when its part has ended there.
/// Servers that it does not reach are told later, by the library.
scoll::task<json> maintenance_commands::end(const command& c, scoll::stop_token stop) {
  if (!desk_.under_way()) co_return none_under_way();
  if (desk_.begun_by() != self_.id()) {
    co_return failure(make_error(errc::invalid_argument,
                                 "node {} has begun this maintenance: ask it to end it", desk_.begun_by()));
  }
  const auto group = self_.find_group<maintenance>(desk_.group());
  if (!group) co_return failure(group.error());
  maintenance::request request;
  request.step = maintenance_step::end;
  scoll::bcast_options options = limits_of(c, stop);
  options.last = true;
  const auto answered = co_await ask_group<maintenance>(group->alive(), request, options);
  co_return described(answered);
}

scoll::task<json> maintenance_commands::lead(const command& c, scoll::stop_token stop) {
  if (!desk_.under_way()) co_return none_under_way();
  const auto group = self_.find_group<maintenance>(desk_.group());
  if (!group) co_return failure(group.error());
  maintenance::request request;
  request.step = maintenance_step::elect;
  request.term = next_term(c.again);
  const auto answered = co_await ask_group<maintenance>(group->alive(), request, limits_of(c, stop));
  co_return described(answered);
}

/// An agreement that has an outcome keeps it: whoever asks with the same number hears it again.
std::uint64_t maintenance_commands::next_term(bool again) const {
  const auto& known = desk_.leader();
  if (!known) return 1;
  const bool another = again || is_dead(known->leader.node);
  return known->term + (another ? 1 : 0);
}

bool maintenance_commands::is_dead(scoll::node_id node) const {
  const auto peers = self_.snapshot().peers;
  return std::any_of(peers.begin(), peers.end(),
                     [node](const scoll::peer_snapshot& peer) { return peer.id == node && peer.dead; });
}

json maintenance_commands::described(const answer<maintenance::reply>& answered) const {
  json all = to_json(answered);
  all["root"] = self_.id();
  if (answered.value) all["value"].update(show()["value"]);
  return all;
}

json maintenance_commands::show() const {
  json value;
  value["under_way"] = desk_.under_way();
  if (desk_.under_way()) {
    value["begun_by"] = desk_.begun_by();
    value["note"] = desk_.note();
    value["refused_here"] = desk_.refused();
    if (const auto& known = desk_.leader()) {
      value["leader"] = known->leader.node;
      value["leader_bytes"] = known->leader.bytes;
      value["term"] = known->term;
      json failed = json::array();
      known->failed.for_each([&](std::uint32_t rank) { failed.push_back(all_.servers()[rank].node); });
      value["without"] = std::move(failed);
    }
  }
  json all = failure(scoll::error());
  all["value"] = std::move(value);
  return all;
}

}  // namespace shard
