#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shard {

/// Formats a number as in "4,000".
std::string with_commas(std::uint64_t number);
/// Formats a number of bytes as in "183.2 MiB".
std::string as_size(std::uint64_t bytes);
/// Formats ids, in any order, as in "1-4, 9".
std::string as_ranges(std::vector<std::uint64_t> ids);

}  // namespace shard
