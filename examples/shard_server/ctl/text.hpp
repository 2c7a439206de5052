#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shard {

/// "4,000"
std::string with_commas(std::uint64_t number);
/// "183.2 MiB"
std::string as_size(std::uint64_t bytes);
/// "1-4, 9" from ids in any order.
std::string as_ranges(std::vector<std::uint64_t> ids);

}  // namespace shard
