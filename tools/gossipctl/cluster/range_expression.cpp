#include "range_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

namespace gossipctl {
namespace {

/// A part of an entry: a text, or the numbers that a range stands for.
struct piece {
  std::string text;
  std::vector<std::uint64_t> numbers;
  std::size_t width = 0;  // leading zeroes are kept: [01-12]
  int base = 10;
};

/// Reads one entry.
class entry_reader {
 public:
  entry_reader(std::string_view entry, std::size_t most) : entry_(entry), most_(most) {
    const std::size_t colons = static_cast<std::size_t>(std::count(entry.begin(), entry.end(), ':'));
    base_ = colons >= 2 ? 16 : 10;
  }

  std::vector<piece> read() {
    while (at_ != entry_.size()) {
      const char c = entry_[at_];
      if (c == '[' && opens_address()) {
        literal(c);
        in_address_ = true;
      } else if (c == ']' && in_address_) {
        literal(c);
        in_address_ = false;
        base_ = 10;  // the rest is the port
      } else if (c == '[') {
        pieces_.push_back(range());
      } else if (c == ']') {
        throw range_mistake{at_, "']' without '['"};
      } else {
        literal(c);
      }
    }
    if (in_address_) throw range_mistake{0, "'[' is never closed"};
    return std::move(pieces_);
  }

 private:
  /// The brackets of an IPv6 address are at the beginning and contain a colon.
  bool opens_address() const {
    if (at_ != 0) return false;
    const std::size_t colon = entry_.find(':');
    return colon != std::string_view::npos && entry_.find(']') > colon;
  }
  void literal(char c) {
    if (pieces_.empty() || !pieces_.back().numbers.empty()) pieces_.emplace_back();
    pieces_.back().text += c;
    ++at_;
  }
  piece range() {
    const std::size_t opened = at_++;
    piece p;
    p.base = base_;
    while (true) {
      one_part(p);
      if (at_ == entry_.size()) throw range_mistake{opened, "'[' is never closed"};
      const char c = entry_[at_++];
      if (c == ']') return p;
      if (c != ',')
        throw range_mistake{at_ - 1, fmt::format("'{}' in a range: expected '-', '/', ',' or ']'", c)};
    }
  }
  void one_part(piece& into) {
    const std::size_t began = at_;
    const std::uint64_t first = number(&into.width);
    std::uint64_t last = first;
    std::uint64_t step = 1;
    if (next_is('-')) last = number(nullptr);
    if (last < first) throw range_mistake{began, "the range ends before it begins"};
    if (next_is('/')) {
      step = number(nullptr);
      if (step == 0) throw range_mistake{at_ - 1, "a step of 0"};
    }
    for (std::uint64_t value = first; value <= last; value += step) {
      if (into.numbers.size() == most_) throw range_mistake{began, too_many_participants(most_)};
      into.numbers.push_back(value);
    }
  }
  bool next_is(char c) {
    if (at_ == entry_.size() || entry_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::uint64_t number(std::size_t* width) {
    std::uint32_t value = 0;
    const char* const begin = entry_.data() + at_;
    const char* const end = entry_.data() + entry_.size();
    const auto [stopped, failed] = std::from_chars(begin, end, value, base_);
    if (failed == std::errc::result_out_of_range) throw range_mistake{at_, "a number that is too large"};
    if (failed != std::errc())
      throw range_mistake{at_, at_ == entry_.size() ? "'[' is never closed" : "expected a number"};
    const auto digits = static_cast<std::size_t>(stopped - begin);
    if (width != nullptr && digits > 1 && *begin == '0') *width = std::max(*width, digits);
    at_ += digits;
    return value;
  }
  std::string_view entry_;
  std::size_t most_;
  int base_;
  std::size_t at_ = 0;
  bool in_address_ = false;
  std::vector<piece> pieces_;
};

std::size_t count(const std::vector<piece>& pieces, std::size_t most) {
  std::size_t all = 1;
  for (const piece& p : pieces) {
    if (p.numbers.empty()) continue;
    if (p.numbers.size() > most / all) throw range_mistake{0, too_many_participants(most)};
    all *= p.numbers.size();
  }
  return all;
}

/// Spells the address with that number.
std::string spell(const std::vector<piece>& pieces, std::size_t number) {
  std::vector<std::string> texts(pieces.size());
  for (std::size_t i = pieces.size(); i-- != 0;) {
    const piece& p = pieces[i];
    if (p.numbers.empty()) {
      texts[i] = p.text;
      continue;
    }
    const std::uint64_t value = p.numbers[number % p.numbers.size()];
    number /= p.numbers.size();
    texts[i] = p.base == 16 ? fmt::format("{:0{}x}", value, p.width) : fmt::format("{:0{}}", value, p.width);
  }
  return fmt::format("{}", fmt::join(texts, ""));
}

}  // namespace

std::string too_many_participants(std::size_t most) {
  return fmt::format("more than {} participants", most);
}

std::vector<std::string> expand_ranges(std::string_view text, std::size_t most) {
  const auto pieces = entry_reader(text, most).read();
  std::vector<std::string> all(count(pieces, most));
  for (std::size_t i = 0; i != all.size(); ++i) all[i] = spell(pieces, i);
  return all;
}

}  // namespace gossipctl
