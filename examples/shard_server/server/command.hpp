#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/time.hpp"

namespace shard {

/// The one line that a client of the control socket sends first: a JSON object. Which members a command reads
/// is in README.md.
struct command {
  std::string name;               ///< "command"
  scoll::nanoseconds timeout{0};  ///< "timeout_s"; 0: what the cluster file says
  scoll::deadline until;          ///< when that is over
  scoll::nanoseconds pace{0};     ///< "pace_ms"
  bool living = false;
  std::string object;
  std::string pattern;
  std::string folder;
  std::uint64_t max_objects = 100'000;
  std::uint64_t max_bytes = std::uint64_t{64} << 30;
};

/// Reads it, or says what is wrong with it: members of wrong types, members that do not exist.
std::variant<command, std::string> parse_command(const std::string& line);

/// Reads what follows a put: {"bytes": "..."} any number of times, then {"end": true}.
struct put_piece {
  std::string base64;
  bool end = false;
};
std::variant<put_piece, std::string> parse_put_piece(const std::string& line);

}  // namespace shard
