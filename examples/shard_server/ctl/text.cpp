#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace shard {

std::string with_commas(std::uint64_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string as_size(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> units = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double size = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; size >= 1023.95; ++unit) size /= 1024;  // larger values would be printed as 1024.0
  return fmt::format("{:.1f} {}", size, units[unit]);
}

std::string as_ranges(std::vector<std::uint64_t> ids) {
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (std::size_t first = 0; first < ids.size();) {
    std::size_t last = first;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += first == last ? fmt::format("{}", ids[first]) : fmt::format("{}-{}", ids[first], ids[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace shard
