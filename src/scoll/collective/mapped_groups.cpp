#include "scoll/collective/mapped_groups.hpp"

#include "scoll/coro/error_format.hpp"

namespace scoll::detail {

result<std::shared_ptr<group_state>> mapped_groups::hold(const membership_ptr& members, service_id service,
                                                         std::uint64_t id, const tree_spec& tree) {
  const group_id name = out_of_band_group(service, id, members->digest());
  if (auto known = table_.find(name)) return known;
  if (const auto other = table_.out_of_band(name)) {
    if (!other->mapped) {
      return make_error(errc::already_exists, "this node has adopted group {} of service {:#06x}", id,
                        static_cast<std::uint32_t>(service));
    }
    other->replaced = true;
    drop(*other);
  } else if (size() >= most_ && !make_room()) {
    return make_error(errc::busy, "{} out-of-band groups are in use here, and no more are held", most_);
  }
  auto made = table_.adopt(members, service, id, tree);
  if (!made) return made;
  (*made)->mapped = true;
  windows_.give_back(**made);
  use(**made);
  return made;
}

void mapped_groups::drop(group_state& group) {
  windows_.keep(group);
  table_.forget(group.id);
}

std::size_t mapped_groups::size() const {
  std::size_t count = 0;
  table_.each([&](const group_state& group) { count += group.mapped; });
  return count;
}

/// Drops the least recently used group among those that are not in use.
bool mapped_groups::make_room() {
  const group_state* idle = nullptr;
  table_.each([&](const group_state& group) {
    if (!group.mapped || !table_.only_here(group.id)) return;
    if (idle == nullptr || group.last_use < idle->last_use) idle = &group;
  });
  if (idle == nullptr) return false;
  drop(*table_.find(idle->id));
  return true;
}

}  // namespace scoll::detail
