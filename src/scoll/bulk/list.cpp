#include "scoll/bulk/list.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {
namespace {

constexpr std::uint64_t largest_descriptor_bytes = 38 + 16 * transport::region_keys::capacity;

}  // namespace

result<offered_list> offer(node& at, std::vector<region_descriptor> descriptors) {
  if (descriptors.size() > bulk_list::count_limit) {
    return make_error(errc::too_large, "{} descriptors in a list: at most {} are allowed", descriptors.size(),
                      bulk_list::count_limit);
  }
  offered_list offered;
  offered.list_.count = static_cast<std::uint32_t>(descriptors.size());
  if (descriptors.size() <= bulk_list::inline_limit) {
    offered.list_.here = std::move(descriptors);
    return offered;
  }
  offered.encoded_.resize(wire::encoded_size(descriptors));
  if (const auto size = wire::encode_to(offered.encoded_, descriptors); !size) return size.error();
  auto exposed = expose(at, std::span<const std::byte>(offered.encoded_));
  if (!exposed) return exposed.error();
  offered.exposed_ = std::move(*exposed);
  offered.list_.elsewhere = offered.exposed_.descriptor();
  return offered;
}

task<result<std::vector<region_descriptor>>> resolve(node& at, const bulk_list& list,
                                                     transfer_options options) {
  if (list.count <= bulk_list::inline_limit) {
    if (list.here.size() != list.count)
      co_return error(errc::malformed, "a list of descriptors is incomplete");
    co_return list.here;
  }
  // The size that a peer claims is believed only as far as a list of that count can have it.
  const std::uint32_t count = list.count;
  const region_descriptor from = list.elsewhere;
  if (count > bulk_list::count_limit || from.length > wire::length_size + count * largest_descriptor_bytes)
    co_return make_error(errc::too_large, "a list of {} descriptors in {} bytes", count, from.length);
  std::vector<std::byte> encoded(static_cast<std::size_t>(from.length));
  const status pulled = co_await pull(at, from, 0, std::span<std::byte>(encoded), options);
  if (!pulled) co_return pulled.error();
  auto descriptors = wire::decode_from<std::vector<region_descriptor>>(encoded);
  if (!descriptors) co_return descriptors.error();
  if (descriptors->size() != count) co_return error(errc::malformed, "a list of descriptors is incomplete");
  co_return std::move(*descriptors);
}

}  // namespace scoll
