#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config.hpp"

namespace gossipctl {

using scoll::gossip::participant_index;

/// The folder of a participant's daemon: control socket, lock, log and incarnation.
struct place {
  explicit place(const config& c, participant_index who);
  std::filesystem::path control() const { return folder / "control"; }
  std::filesystem::path lock() const { return folder / "lock"; }
  std::filesystem::path log() const { return folder / "log"; }

  std::filesystem::path folder;
};

/// Returns the participants of which an address belongs to an interface of this host.
std::vector<participant_index> local_participants(const config& c);

/// Finds a participant by index, by id ("id:7"), or by any of its addresses, whose port may be left out if it
/// is not needed. If there is no such participant, a text says why.
std::variant<participant_index, std::string> find_participant(const config& c, std::string_view name);

}  // namespace gossipctl
