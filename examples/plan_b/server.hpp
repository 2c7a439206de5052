#pragma once

#include <cstdint>

namespace plan_b {

/// The options of one server, which are its command line.
struct server_options {
  std::uint64_t id = 0;
  std::uint32_t servers = 0;
  std::uint64_t blocks = 0;
  std::uint32_t deadline_ms = 0;  ///< of a pull
  bool revokes = true;            ///< false: it only waits when a pull fails
};

/// Runs one server of the ring until all blocks are back. It says its address on standard output, reads those
/// of all servers from standard input, and then tells its story there: lines of a word and a text. Returns an
/// exit code.
int serve(const server_options& options);

}  // namespace plan_b
