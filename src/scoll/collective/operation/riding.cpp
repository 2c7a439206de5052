#include <algorithm>
#include <utility>

#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/wire/checksum.hpp"

// The creation of a group on its way down. It rides to the children that are not known to hold the group: to
// all of them when the group is created, and later as long as a delayed group has such members.
namespace scoll::detail {

/// Takes the creation off a request that has arrived. This node writes its own for each child that needs one.
void operation::drop_creation(transport::buffer_view& payload) noexcept {
  collective_head& head = subject_.head;
  if (head.creation_bytes == 0) return;
  payload.bytes = payload.bytes.subspan(head.creation_bytes);
  head.creation_bytes = 0;
  head.flags &= static_cast<std::uint16_t>(
      ~(collective_head::creation_rides | collective_head::creation_is_descriptor));
}

bool operation::creation_rides_to(const child& c) const noexcept {
  const auto kind = static_cast<collective_kind>(subject_.head.kind);
  if (subject_.group->holders == nullptr) return kind == collective_kind::create;
  if (kind != collective_kind::broadcast) return false;
  if (SCOLL_MUTANT(riding_for_ever, "the creation of a delayed group rides along with every request"))
    return true;
  return !subject_.group->holders->contains(subject_.rank_at(c.relative));
}

/// Writes the creation in front of the request, once for all children that need it. The members go as a
/// descriptor if they do not fit beside the request.
status operation::load_creation() {
  transport::buffer_ref buffer = engine_->endpoint_.acquire_payload();
  if (!buffer) return engine_->wire().no_payload_left("the creation of a group");
  group_state& group = *subject_.group;
  const std::span<const std::byte> rest = request_.forwarded.bytes;
  const std::span<std::byte> room(buffer.data(), max_collective_payload_bytes - rest.size());
  auto loaded = std::make_unique<loaded_request>();
  auto size = encode_creation(group.terms(), *group.members, room);
  if (!size && !group.inline_only) {
    auto offered = group.offer(engine_->endpoint_);
    if (!offered) return offered.error();
    size = encode_creation(group.terms(), (*offered)->region.descriptor(), room);
    loaded->offered = std::move(*offered);
  }
  if (!size) return size.error();
  std::ranges::copy(rest, buffer.data() + *size);
  const std::span<const std::byte> bytes(buffer.data(), *size + rest.size());
  loaded->checksum = wire::checksum(bytes);
  loaded->payload = {std::move(buffer), bytes};
  loaded->creation_bytes = static_cast<std::uint16_t>(*size);
  loaded_ = std::move(loaded);
  return {};
}

collective_head operation::head_with_creation() const noexcept {
  collective_head head = subject_.head;
  head.creation_bytes = loaded_->creation_bytes;
  if (static_cast<collective_kind>(head.kind) == collective_kind::broadcast)
    head.flags |= collective_head::creation_rides;
  if (loaded_->offered != nullptr) head.flags |= collective_head::creation_is_descriptor;
  return head;
}

/// True if a child has refused the request because it does not hold the delayed group, and has not been told
/// of it with the request. Such a child has done nothing.
bool operation::asks_again(const child& c) const noexcept {
  const bool broadcast = static_cast<collective_kind>(subject_.head.kind) == collective_kind::broadcast;
  const bool unknown = c.refused && c.reason == errc::unknown_group && !c.loaded;
  return unknown && !c.has_settled_some() && broadcast && subject_.group->holders != nullptr &&
         !subject_.group->forgotten &&
         !SCOLL_MUTANT(riding_forgotten, "a member that does not hold a delayed group is not asked again");
}

void operation::ask_again(child& c) {
  ++engine_->statistics_.asked_again;
  subject_.group->holders->erase(subject_.rank_at(c.relative));
  c.refused = c.reached = false;
  c.reason = {};
  send_to(c);
  rearm();
}

/// A child has answered, so it holds the delayed group, and so do those members below it that have executed.
void operation::note_holders(const child& c, std::size_t mark) {
  holder_set& holders = *subject_.group->holders;
  const auto insert = [&](rank_range relative) {
    subject_.visit_ranks(relative,
                         [&](std::uint32_t first, std::uint32_t last) { holders.insert(first, last); });
  };
  insert({c.relative, c.relative + 1});
  if (c.clean) {
    return visit_unsettled(subject_, c,
                           [&](std::uint32_t first, std::uint32_t last) { insert({first, last}); });
  }
  for (const member_report& run : outcome_.runs().subspan(mark)) {
    if (run.state == member_state::merged || run.state == member_state::executed) insert(run.members);
  }
}

}  // namespace scoll::detail
