#include "scoll/detail/any_group.hpp"

#include <utility>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/round_trips.hpp"
#include "scoll/collective/subset.hpp"
#include "scoll/coro/error_format.hpp"

namespace scoll::detail {

std::uint32_t addressees::size() const noexcept {
  return subset != nullptr ? subset->size() : group->members->size();
}

const group_id& any_group::id() const noexcept {
  static constexpr group_id none{};
  const group_state* const held = to_.group.get();
  return held != nullptr ? held->id : none;
}

const membership& any_group::members() const noexcept {
  const group_state* const held = to_.group.get();
  return held != nullptr ? *held->members : *membership::none();
}

membership_ptr any_group::shared_members() const noexcept {
  const group_state* const held = to_.group.get();
  return held != nullptr ? held->members : membership::none();
}

std::uint32_t any_group::rank() const noexcept {
  return valid() ? to_.group->self_rank : 0;
}

const tree_spec& any_group::tree() const noexcept {
  static const tree_spec none{};
  const group_state* const held = to_.group.get();
  return held != nullptr ? held->tree : none;
}

rank_set any_group::addressed() const {
  if (to_.invalid) return {};
  return to_.subset != nullptr ? to_.subset->ranks() : rank_set::all(members().size());
}

group_timing any_group::timing() const {
  return valid() ? timing_of(*engine_, to_) : group_timing{};
}

task<result<revoke_report>> any_group::revoke(std::uint32_t reason, std::string_view text) const {
  if (valid()) return engine_->revoke_group(to_.group, reason, text);
  return []() -> task<result<revoke_report>> {
    co_return error(errc::invalid_argument, "the group is empty");
  }();
}

status any_group::use_bulk_costs(const scoll::bulk_costs& costs) const {
  if (!valid())
    return error(errc::invalid_argument, "the group is empty: take one from create_group or find_group");
  to_.group->bulk.costs = costs;
  to_.group->bulk.know_hosts({});
  return {};
}

status any_group::use_bulk_costs(const link_map& links) const {
  const auto costs = links.bulk();
  if (!costs) return error(errc::invalid_argument, "no costs of bulk data have been measured");
  const std::uint32_t n = members().size();
  const bool fits = links.host_of.empty() || links.host_of.size() == n;
  if (!fits) {
    return make_error(errc::invalid_argument, "the links of {} members for a group of {}",
                      links.host_of.size(), n);
  }
  if (const status used = use_bulk_costs(*costs); !used) return used;
  std::vector<std::uint32_t> hosts(links.host_of.size());
  for (std::uint32_t relative = 0; relative < hosts.size(); ++relative)
    hosts[to_rank(relative, to_.group->self_rank, n)] = links.host_of[relative];
  to_.group->bulk.know_hosts(std::move(hosts));
  return {};
}

any_group any_group::narrowed_to(const rank_set& ranks) const {
  rank_set beyond = ranks - rank_set::all(members().size());
  return narrowed(beyond.empty() ? addressed() & ranks : std::move(beyond), false);
}

any_group any_group::narrowed_by(const rank_set& ranks) const {
  return narrowed(addressed() - ranks, false);
}

any_group any_group::narrowed_to_living() const {
  if (!valid()) return *this;
  return narrowed(engine_->living(*to_.group, addressed()), to_.subset == nullptr || to_.living);
}

task<agreed_bytes> any_group::agree_encoded(std::uint64_t instance, result<std::vector<std::byte>> value,
                                            merge_values merge, agree_options options) const {
  return agree_on(*this, instance, std::move(value), merge, options);
}

task<agreed_bytes> any_group::agree_on(any_group self, std::uint64_t instance,
                                       result<std::vector<std::byte>> value, merge_values merge,
                                       agree_options options) {
  if (!value) co_return agreed_bytes(value.error());
  if (!self.valid()) {
    co_return agreed_bytes(
        {errc::invalid_argument, "the group is empty: take one from create_group or find_group"});
  }
  agreed_bytes outcome =
      co_await self.engine_->agreeing().agree(self.to_, instance, std::move(*value), merge, options);
  co_return outcome;
}

/// The ranks in this group of the members that both address. Different memberships meet by node id.
rank_set any_group::shared_with(const any_group& other) const {
  const rank_set mine = addressed(), theirs = other.addressed();
  if (members().digest() == other.members().digest()) return mine & theirs;
  rank_set shared;
  mine.for_each([&](std::uint32_t rank) {
    const auto there = other.members().rank_of(members().node(rank));
    if (there && theirs.contains(*there)) shared.append(rank, rank + 1);
  });
  return shared;
}

any_group any_group::meeting(const any_group& other) const {
  return narrowed(shared_with(other), false);
}

any_group any_group::without(const any_group& other) const {
  return narrowed(addressed() - shared_with(other), false);
}

task<result<any_group>> any_group::settled(group_options options) const {
  return settle(*this, options);
}

task<result<any_group>> any_group::settle(any_group self, group_options options) {
  if (!self.valid())
    co_return error(errc::invalid_argument, "the group is empty: take one from create_group or find_group");
  engine& owner = *self.engine_;
  auto made = co_await owner.settle_group(self.to_.group, options);
  if (!made) co_return made.error();
  co_return any_group(owner, std::move(*made));
}

task<result<any_group>> any_group::shrink_any(agree_options options) const {
  return shrink(*this, options);
}

task<result<any_group>> any_group::shrink(any_group self, agree_options options) {
  if (!self.valid())
    co_return error(errc::invalid_argument, "the group is empty: take one from create_group or find_group");
  engine& owner = *self.engine_;
  const auto shrunk = co_await owner.agreeing().shrink(self.to_, options);
  if (!shrunk) co_return shrunk.error();
  co_return any_group(owner, *shrunk);
}

any_group any_group::narrowed(rank_set left, bool living) const {
  if (!valid()) return *this;
  any_group g = *this;
  g.to_.living = living;
  auto made = subset::make(std::move(left), members().size());
  if (made) {
    g.to_.subset = std::move(*made);
  } else if (!g.to_.invalid) {
    g.to_.invalid = made.error();
  }
  return g;
}

}  // namespace scoll::detail
