#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/time.hpp"

namespace shard {

/// The single line that a client of the control socket sends first: a JSON object. README.md lists the
/// members that each command reads.
struct command {
  std::string name;               ///< "command"
  scoll::nanoseconds timeout{0};  ///< "timeout_s"; 0 means the cluster file's value
  scoll::deadline until;          ///< the moment when `timeout` has passed
  scoll::nanoseconds pace{0};     ///< "pace_ms"
  bool living = false;
  std::string object;
  std::string pattern;
  std::string folder;
  std::string file;  ///< an absolute path
  std::string plan;  ///< of an installation; "" lets the root choose
  std::uint64_t max_objects = 100'000;
  std::uint64_t max_bytes = std::uint64_t{64} << 30;
  std::uint64_t slots = 50'000;
  bool delayed = false;
  bool inline_only = false;
  std::uint64_t pool = 0;
  std::uint64_t client = 0;   ///< to be evicted or admitted
  std::string step = "show";  ///< of a maintenance
  std::string note;
  bool again = false;
  std::uint64_t code = 0;  ///< the reason of a revoke
  std::string text;
};

/// Reads a command, or says what is wrong with it, such as members of wrong types or unknown members.
std::variant<command, std::string> parse_command(const std::string& line);

/// Reads the lines that follow a put: {"bytes": "..."} any number of times, then {"end": true}.
struct put_piece {
  std::string base64;
  bool end = false;
};
std::variant<put_piece, std::string> parse_put_piece(const std::string& line);

}  // namespace shard
