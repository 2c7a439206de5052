#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gossipctl {

/// Says what is wrong with a text with ranges, and at which of its characters, counted from 0.
struct range_mistake {
  std::size_t column = 0;
  std::string what;
};

/// Expands the ranges in a text, `192.168.[1-2].[1-128/2]:7400`, in order: `[1-128/2]` is 1, 3, ... 127 and
/// `[1,4,8-9]` is 1, 4, 8 and 9; the last range counts fastest. In IPv6 addresses, which are in brackets of
/// their own when a port follows, ranges are hexadecimal: `[fd00::[1-1f]]:7400`. Throws `range_mistake`, also
/// if there would be more than `most` texts.
std::vector<std::string> expand_ranges(std::string_view text, std::size_t most);

std::string too_many_participants(std::size_t most);

}  // namespace gossipctl
