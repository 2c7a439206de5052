#include "tools/scoll-sim/plan/number_set.hpp"

#include <charconv>

namespace scoll::sim {
namespace {

/// Reads a number from the beginning of `text` and takes it off.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// Reads "5" or "0-5" from the beginning of `text` into the set.
bool take_range(std::string_view& text, number_set& into) {
  const auto first = take_number(text);
  if (!first) return false;
  auto last = first;
  if (text.starts_with('-')) {
    text.remove_prefix(1);
    last = take_number(text);
  }
  if (!last || *last < *first || *last >= number_set::limit) return false;
  for (std::uint64_t n = *first; n <= *last; ++n) into.insert(n);
  return true;
}

}  // namespace

std::string number_set::to_text() const {
  std::string text;
  for (std::uint32_t n = 0; n < limit; ++n) {
    if (!contains(n)) continue;
    std::uint32_t last = n;
    while (contains(std::uint64_t{last} + 1)) ++last;
    text += text.empty() ? "" : ",";
    text += std::to_string(n);
    if (last != n) text += '-' + std::to_string(last);
    n = last;
  }
  return '{' + text + '}';
}

std::optional<number_set> number_set::from_text(std::string_view text) {
  number_set set;
  if (!text.starts_with('{')) {
    const auto mask = take_number(text);
    if (!mask || !text.empty()) return std::nullopt;
    set.words_[0] = *mask;
    return set;
  }
  text.remove_prefix(1);
  while (!text.starts_with('}')) {
    if (!take_range(text, set)) return std::nullopt;
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return text == "}" ? std::optional(set) : std::nullopt;
}

}  // namespace scoll::sim
