#include "transport/session/rails/path_table.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>

#include "transport/io/address.hpp"
#include "transport/io/host_address.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {
namespace {

struct numeric {
  int family;
  std::array<std::byte, 16> bits{};
};

std::optional<numeric> number_of(std::string_view address) noexcept {
  const auto host = host_address::parse(split_name(address_of_lane(address, lane_id::control)).place);
  if (!host || !host->name.empty()) return std::nullopt;
  numeric n{host->number.family()};
  if (n.family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, host->number.data(), sizeof in);
    std::memcpy(n.bits.data(), &in.sin_addr, sizeof in.sin_addr);
  } else {
    sockaddr_in6 in{};
    std::memcpy(&in, host->number.data(), sizeof in);
    std::memcpy(n.bits.data(), &in.sin6_addr, sizeof in.sin6_addr);
  }
  return n;
}

/// 0: the two are in one network. 1: they have the same place in the lists of rails. 2: neither.
int distance(const endpoint& at, path_key key, std::string_view theirs) noexcept {
  if (same_network(at.address_of_rail(key.own), theirs, at.prefix_of_rail(key.own))) return 0;
  return key.own == key.theirs ? 1 : 2;
}

}  // namespace

bool same_network(std::string_view left, std::string_view right, std::uint8_t prefix) noexcept {
  if (prefix == 0) return false;
  const auto l = number_of(left);
  const auto r = number_of(right);
  if (!l || !r || l->family != r->family || prefix > (l->family == AF_INET ? 32 : 128)) return false;
  for (unsigned bit = 0; bit < prefix; ++bit) {
    const auto mask = static_cast<std::byte>(0x80U >> (bit % 8));
    if ((l->bits[bit / 8] & mask) != (r->bits[bit / 8] & mask)) return false;
  }
  return true;
}

void path_table::set_addresses(const endpoint& at, std::vector<std::string> addresses) {
  addresses_.clear();
  for_bulk_.reset();
  for (std::string& each : addresses) {
    const std::string_view message = address_of_lane(each, lane_id::control);
    const bool two = at.has_named_rails() && message.size() != each.size();
    if (!two || addresses_.size() + 2 > max_rails) {
      addresses_.push_back(std::move(each));
      continue;
    }
    addresses_.emplace_back(message);
    for_bulk_.set(addresses_.size());
    addresses_.emplace_back(address_of_lane(each, lane_id::bulk));
  }
  rank(at);
}

void path_table::rank_anew(const endpoint& at) {
  paths_.clear();
  rank(at);
}

void path_table::rank(const endpoint& at) {
  struct candidate {
    int distance;
    path_key key;
    auto order() const noexcept { return std::tuple(distance, key.own, key.theirs); }
  };
  std::vector<candidate> candidates;
  for (std::size_t own = 0; own < at.rails(); ++own) {
    for (std::size_t theirs = 0; theirs < addresses_.size(); ++theirs) {
      const path_key key{static_cast<std::uint8_t>(own), static_cast<std::uint8_t>(theirs)};
      if (!at.rail_at(own).check_address(address_of_lane(addresses_[theirs], lane_id::control))) continue;
      candidates.push_back({distance(at, key, addresses_[theirs]), key});
    }
  }
  std::ranges::sort(candidates, {}, &candidate::order);
  std::vector<path> known = std::exchange(paths_, {});
  for (const candidate& each : candidates)
    paths_.emplace_back(each.key, static_cast<std::uint32_t>(paths_.size()), true);
  // Paths that were known keep what is known of them, except their place.
  for (const path& before : known) this->at(before.key()).resume(before);
}

const std::string& path_table::address(std::uint8_t theirs) const noexcept {
  static const std::string none;
  return theirs < addresses_.size() ? addresses_[theirs] : none;
}

path& path_table::at(path_key key) {
  const auto found = std::ranges::find(paths_, key, &path::key);
  if (found != paths_.end()) return *found;
  return paths_.emplace_back(key, static_cast<std::uint32_t>(paths_.size()), false);
}

std::uint8_t path_table::name_of(std::uint8_t theirs) const noexcept {
  const auto leads_there = [theirs](const path& p) { return p.arrival_known() && p.arrives_at() == theirs; };
  std::uint8_t name = theirs;
  for (const path& each : paths_ | std::views::filter(leads_there)) {
    if (!each.crossed()) return theirs;
    name = each.key().theirs;
  }
  return name;
}

const path* path_table::find(path_key key) const noexcept {
  const auto found = std::ranges::find(paths_, key, &path::key);
  return found == paths_.end() ? nullptr : &*found;
}

}  // namespace scoll::transport
