#include "scoll/collective/offered_members.hpp"

#include <utility>

#include "scoll/collective/group_admin.hpp"

namespace scoll::detail {

result<std::shared_ptr<offered_members>> offer_members(transport::endpoint& at, const membership& members) {
  std::vector<std::byte> encoded(membership_bytes(members));
  if (const auto written = encode_membership(&members, encoded); !written) return written.error();
  return offer_members(at, std::move(encoded));
}

result<std::shared_ptr<offered_members>> offer_members(transport::endpoint& at,
                                                       std::vector<std::byte> encoded) {
  auto offered = std::make_shared<offered_members>();
  offered->bytes = std::move(encoded);
  auto region = transport::memory_region::expose(at, offered->bytes);
  if (!region) return region.error();
  offered->region = std::move(*region);
  return offered;
}

}  // namespace scoll::detail
