#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scoll/coro/result.hpp"

namespace shard {

/// Long enough for paths in practice, short enough for a list of them in one reply.
inline constexpr std::size_t max_name_bytes = 512;

/// A valid name has 1 to `max_name_bytes` bytes without NUL; otherwise the error is `invalid_argument` and
/// says what is wrong.
scoll::status check_name(std::string_view name);

/// Implements the placement rule: returns the server, out of `members`, that owns an object, as a rank in the
/// cluster file.
std::uint32_t owner_rank(std::string_view name, std::uint32_t members) noexcept;

/// Returns in which of its owner's slots an object is, as a position: 0 to `slots` - 1. `members` is the
/// number of servers; none of the two numbers may be 0.
std::size_t slot_position(std::string_view name, std::uint32_t members, std::size_t slots) noexcept;

/// The place of one server in the cluster file.
struct placement {
  std::uint32_t rank = 0;
  std::uint32_t members = 1;
  bool owns(std::string_view name) const noexcept { return owner_rank(name, members) == rank; }
};

/// True for letters, digits and "._-+=,@", which stand in the name of a file as they are.
bool fits_file_name(char c) noexcept;

/// Returns the subfolder of an object's file, 0 to 255, and the name of the file in it. The file's name is
/// the object's name with everything but letters, digits and "._-+=,@" as %XX, cut if too long, and the
/// generation, which makes it unique.
std::uint8_t subfolder_of(std::string_view name) noexcept;
std::string file_name_of(std::string_view name, std::uint64_t generation);

}  // namespace shard
