#include "gossip/address_table.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "scoll/coro/error_format.hpp"

namespace scoll::gossip {

status address_table::find(const configuration& shared, participant_index self,
                           const std::vector<transport::datagram_port*>& ports) {
  begins_.reserve(shared.size() + std::size_t{1});
  begins_.push_back(0);
  for (participant_index who = 0; who < shared.size(); ++who) {
    const auto texts = shared.addresses(who);
    for (std::size_t rail = 0; rail < texts.size(); ++rail) {
      const auto parsed = ports[std::min(rail, ports.size() - 1)]->parse(texts[rail]);
      if (!parsed) return parsed.error();
      addresses_.push_back(*parsed);
    }
    begins_.push_back(static_cast<std::uint32_t>(addresses_.size()));
  }
  if (status s = check_networks(shared, self); !s) return s;
  sorted_.resize(addresses_.size());
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::sort(sorted_.begin(), sorted_.end(),
            [this](std::uint32_t a, std::uint32_t b) { return addresses_[a] < addresses_[b]; });
  return check_different(shared);
}

/// Each own rail must be able to send to the addresses of others on that rail.
status address_table::check_networks(const configuration& shared, participant_index self) const {
  const auto own = shared.addresses(self);
  for (participant_index who = 0; who < shared.size(); ++who) {
    const auto texts = shared.addresses(who);
    for (std::size_t rail = 0; rail < std::min(own.size(), texts.size()); ++rail) {
      const auto at = static_cast<rail_index>(rail);
      if (of(who, at).bytes().size() != of(self, at).bytes().size())
        return make_error(errc::invalid_argument, "gossip: {} is not in the network of {}", texts[rail],
                          own[rail]);
    }
  }
  return {};
}

status address_table::check_different(const configuration& shared) const {
  const auto twice =
      std::adjacent_find(sorted_.begin(), sorted_.end(),
                         [this](std::uint32_t a, std::uint32_t b) { return addresses_[a] == addresses_[b]; });
  if (twice == sorted_.end()) return {};
  const place one = place_of(*twice), other = place_of(*std::next(twice));
  return make_error(errc::duplicate_target, "gossip: {} and {} are the same address",
                    shared.addresses(one.who)[one.rail], shared.addresses(other.who)[other.rail]);
}

address_table::place address_table::place_of(std::uint32_t at) const noexcept {
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), at);
  const auto who = static_cast<participant_index>(after - begins_.begin() - 1);
  return {who, static_cast<rail_index>(at - begins_[who])};
}

address_table::place address_table::find(const transport::datagram_address& source, participant_index likely,
                                         rail_index own) const noexcept {
  if (likely + std::size_t{1} < begins_.size() && begins_[likely] + own < begins_[likely + 1] &&
      of(likely, own) == source)
    return {likely, own};
  const auto at = std::lower_bound(
      sorted_.begin(), sorted_.end(), source,
      [this](std::uint32_t a, const transport::datagram_address& b) { return addresses_[a] < b; });
  if (at == sorted_.end() || addresses_[*at] != source) return {};
  return place_of(*at);
}

}  // namespace scoll::gossip
