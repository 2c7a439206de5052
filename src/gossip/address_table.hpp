#pragma once

#include <cstdint>
#include <vector>

#include "gossip/configuration.hpp"
#include "gossip/member/rail_choice.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/datagram.hpp"

namespace scoll::gossip {

/// The addresses of all participants as the ports read them, and who has which.
class address_table {
 public:
  struct place {
    participant_index who = nobody;
    rail_index rail = 0;
  };

  /// Reads all addresses. `ports` are the own ones, by rail. Errors: `invalid_argument` (an address that the
  /// port does not understand, or of another kind than the own one on that rail), `duplicate_target` (two
  /// addresses that are spelled differently are the same).
  status find(const configuration& shared, participant_index self,
              const std::vector<transport::datagram_port*>& ports);

  const transport::datagram_address& of(participant_index who, rail_index rail) const noexcept {
    return addresses_[begins_[who] + rail];
  }
  /// Whose address that is. Most often it is that of `likely` on rail `own`.
  place find(const transport::datagram_address& source, participant_index likely,
             rail_index own) const noexcept;

 private:
  status check_networks(const configuration& shared, participant_index self) const;
  status check_different(const configuration& shared) const;
  place place_of(std::uint32_t at) const noexcept;

  std::vector<transport::datagram_address> addresses_;  // in canonical order
  std::vector<std::uint32_t> begins_;                   // by participant, and one more
  std::vector<std::uint32_t> sorted_;                   // places in `addresses_`, in the order of addresses
};

}  // namespace scoll::gossip
