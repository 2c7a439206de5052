#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config.hpp"

namespace gossipctl {

using scoll::gossip::participant_index;

/// Where a participant's daemon keeps what is its own: control socket, lock, log and incarnation.
struct place {
  explicit place(const config& c, participant_index who);
  std::filesystem::path control() const { return folder / "control"; }
  std::filesystem::path lock() const { return folder / "lock"; }
  std::filesystem::path log() const { return folder / "log"; }

  std::filesystem::path folder;
};

/// Those whose address an interface of this host has.
std::vector<participant_index> local_participants(const config& c);

/// By address, with the port or without it if that is enough, or by index; a text says why it is nobody.
std::variant<participant_index, std::string> find_participant(const config& c, std::string_view name);

}  // namespace gossipctl
