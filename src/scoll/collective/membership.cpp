#include "scoll/collective/membership.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include "scoll/coro/error_format.hpp"
#include "transport/session/greeting.hpp"
#include "transport/wire/byte_order.hpp"

namespace scoll {
namespace {

/// SHA-256 over "scoll membership 1", then for each target in order: node id, number of entities, entities
/// (high, low); all little-endian, 64 bits. If any place is known, the text is "scoll membership 2", and zone
/// and host follow the entities of each target.
membership_digest digest_of(const std::vector<target>& targets, bool has_places) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  SCOLL_ASSERT(context != nullptr && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1,
               "SHA-256 is missing");
  const auto put = [context](std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    wire::detail::store_little(bytes.data(), value);
    EVP_DigestUpdate(context, bytes.data(), bytes.size());
  };
  const std::string_view domain = has_places ? "scoll membership 2" : "scoll membership 1";
  EVP_DigestUpdate(context, domain.data(), domain.size());
  for (const target& t : targets) {
    put(t.node);
    put(t.entities.size());
    for (const entity& e : t.entities) {
      put(e.high);
      put(e.low);
    }
    if (!has_places) continue;
    put(t.zone);
    put(t.host);
  }
  membership_digest digest;
  EVP_DigestFinal_ex(context, reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  EVP_MD_CTX_free(context);
  return digest;
}

}  // namespace

const std::shared_ptr<const membership>& membership::none() {
  static const std::shared_ptr<const membership> nobody(new membership);
  return nobody;
}

result<membership_ptr> membership::make(std::vector<target> targets) {
  if (targets.empty()) return error(errc::invalid_argument, "a group needs at least one target");
  if (targets.size() > max_members) {
    return make_error(errc::too_large, "a group of {} members: at most {} are possible", targets.size(),
                      max_members);
  }
  std::shared_ptr<membership> made(new membership);
  made->targets_ = std::move(targets);
  for (std::uint32_t rank = 0; rank < made->size(); ++rank) {
    if (made->node(rank) == 0)
      return make_error(errc::invalid_argument, "target {} names node 0, which is not a valid id", rank);
    if (transport::is_client(made->node(rank)))
      return make_error(errc::invalid_argument, "target {} is a client, which can be in no group", rank);
    made->by_node_.emplace_back(made->node(rank), rank);
  }
  std::sort(made->by_node_.begin(), made->by_node_.end());
  const auto twice = std::adjacent_find(made->by_node_.begin(), made->by_node_.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != made->by_node_.end()) {
    return make_error(errc::duplicate_target, "node {} is both target {} and target {}", twice->first,
                      twice->second, std::next(twice)->second);
  }
  made->has_places_ = std::ranges::any_of(
      made->targets_, [](const target& t) { return member_place{t.zone, t.host}.is_known(); });
  made->digest_ = digest_of(made->targets_, made->has_places_);
  return membership_ptr(std::move(made));
}

std::vector<target> unite(const membership& a, const membership& b) {
  std::vector<target> all = a.targets();
  for (const target& more : b.targets()) {
    const auto rank = a.rank_of(more.node);
    if (!rank) {
      all.push_back(more);
      continue;
    }
    std::vector<entity>& entities = all[*rank].entities;
    std::vector<entity> known = entities;
    std::sort(known.begin(), known.end());
    for (const entity& e : more.entities) {
      if (!std::binary_search(known.begin(), known.end(), e)) entities.push_back(e);
    }
    if (!a.place(*rank).is_known()) {
      all[*rank].zone = more.zone;
      all[*rank].host = more.host;
    }
  }
  return all;
}

std::vector<target> by_zone(std::vector<target> targets) {
  // std::stable_sort makes clang warn about libstdc++.
  std::vector<std::size_t> order(targets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(targets[a].zone, targets[a].host, a) < std::tuple(targets[b].zone, targets[b].host, b);
  });
  std::vector<target> sorted;
  sorted.reserve(targets.size());
  for (const std::size_t i : order) sorted.push_back(std::move(targets[i]));
  return sorted;
}

std::optional<std::uint32_t> membership::rank_of(node_id node) const noexcept {
  const auto at =
      std::lower_bound(by_node_.begin(), by_node_.end(), std::pair<node_id, std::uint32_t>(node, 0));
  if (at == by_node_.end() || at->first != node) return std::nullopt;
  return at->second;
}

}  // namespace scoll
