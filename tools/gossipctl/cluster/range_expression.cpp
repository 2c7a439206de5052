#include "range_expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_set>

#include "scoll/coro/error_format.hpp"
#include "transport/io/socket.hpp"

namespace gossipctl {
namespace {

using scoll::transport::socket_address;

/// A part of an entry: a text, or the numbers that a range stands for.
struct piece {
  std::string text;
  std::vector<std::uint64_t> numbers;
  std::size_t width = 0;  // leading zeroes are kept: [01-12]
  int base = 10;
};

/// Thrown and caught in this file only.
struct wrong {
  std::size_t column;  // within the entry, from 0
  std::string what;
};

std::string too_many(std::size_t most) {
  return fmt::format("more than {} participants", most);
}

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',';
}

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
        throw wrong{at_, "']' without '['"};
      } else {
        literal(c);
      }
    }
    if (in_address_) throw wrong{0, "'[' is never closed"};
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
      if (at_ == entry_.size()) throw wrong{opened, "'[' is never closed"};
      const char c = entry_[at_++];
      if (c == ']') return p;
      if (c != ',') throw wrong{at_ - 1, fmt::format("'{}' in a range: expected '-', '/', ',' or ']'", c)};
    }
  }
  void one_part(piece& into) {
    const std::size_t began = at_;
    const std::uint64_t first = number(&into.width);
    std::uint64_t last = first;
    std::uint64_t step = 1;
    if (next_is('-')) last = number(nullptr);
    if (last < first) throw wrong{began, "the range ends before it begins"};
    if (next_is('/')) {
      step = number(nullptr);
      if (step == 0) throw wrong{at_ - 1, "a step of 0"};
    }
    for (std::uint64_t value = first; value <= last; value += step) {
      if (into.numbers.size() == most_) throw wrong{began, too_many(most_)};
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
    if (failed == std::errc::result_out_of_range) throw wrong{at_, "a number that is too large"};
    if (failed != std::errc())
      throw wrong{at_, at_ == entry_.size() ? "'[' is never closed" : "expected a number"};
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
    if (p.numbers.size() > most / all) throw wrong{0, too_many(most)};
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

/// Adds the default port where it is missing: "10.0.0.1", "fd00::1" and "[fd00::1]" have no port.
std::string with_port(const std::string& address, std::uint16_t port) {
  const bool bracketed = !address.empty() && address.front() == '[';
  const auto colons = std::count(address.begin(), address.end(), ':');
  const bool has_port = bracketed ? address.find("]:") != std::string::npos : colons == 1;
  if (has_port) return address;
  if (port == 0) throw wrong{0, fmt::format("'{}' names no port, and there is no default", address)};
  return bracketed || colons == 0 ? fmt::format("{}:{}", address, port)
                                  : fmt::format("[{}]:{}", address, port);
}

class list_reader {
 public:
  explicit list_reader(const list_options& options) : options_(options) {}

  /// Throws `list_mistake`.
  void read(std::string_view text, const std::string& source) {
    std::size_t line = 1;
    std::size_t line_began = 0;
    for (std::size_t at = 0; at < text.size();) {
      if (text[at] == '\n') {
        ++line;
        line_began = ++at;
      } else if (text[at] == '#') {
        at = std::min(text.find('\n', at), text.size());
      } else if (is_separator(text[at])) {
        ++at;
      } else {
        const std::size_t end = end_of_entry(text, at);
        entry(text.substr(at, end - at), source, line, at - line_began);
        at = end;
      }
    }
  }
  std::vector<std::string> take() { return std::move(addresses_); }

 private:
  /// Commas within brackets belong to the range.
  static std::size_t end_of_entry(std::string_view text, std::size_t at) {
    int depth = 0;
    for (; at != text.size(); ++at) {
      const char c = text[at];
      if (c == '[') ++depth;
      if (c == ']') --depth;
      if (c == '#' || (is_separator(c) && !(c == ',' && depth > 0))) break;
    }
    return at;
  }

  void entry(std::string_view text, const std::string& source, std::size_t line, std::size_t column) {
    try {
      if (text.front() == '@') {
        include(std::string(text.substr(1)), source);
        return;
      }
      entry_reader reader(text, options_.most);
      const auto pieces = reader.read();
      const std::size_t addresses = count(pieces, options_.most);
      for (std::size_t i = 0; i != addresses; ++i) add(spell(pieces, i));
    } catch (const wrong& w) {
      throw list_mistake{source, line, column + w.column + 1,
                         fmt::format("{} in '{}'", w.what, text.substr(0, 80))};
    }
  }

  void include(const std::string& path, const std::string& from) {
    if (!from.empty()) throw wrong{0, "a file of participants names another file"};
    const auto content = options_.read_file ? options_.read_file(path) : std::nullopt;
    if (!content) throw wrong{1, fmt::format("the file {} cannot be read", path)};
    read(*content, path);
  }

  void add(const std::string& spelled) {
    const auto address = socket_address::parse(with_port(spelled, options_.default_port));
    if (!address) throw wrong{0, fmt::format("'{}' is no address: {}", spelled, address.error().text())};
    if (address->port() == 0) throw wrong{0, fmt::format("'{}' has port 0", spelled)};
    if (family_ == 0) family_ = address->family();
    if (family_ != address->family())
      throw wrong{0, fmt::format("'{}' is of another address family than those before", spelled)};
    std::string text = address->to_string();
    if (!seen_.insert(text).second) throw wrong{0, fmt::format("{} is there twice", text)};
    if (addresses_.size() == options_.most)
      throw wrong{0, fmt::format("more than {} participants", options_.most)};
    addresses_.push_back(std::move(text));
  }

  const list_options& options_;
  std::vector<std::string> addresses_;
  std::unordered_set<std::string> seen_;
  int family_ = 0;
};

}  // namespace

std::string to_string(const list_mistake& m) {
  if (m.source.empty()) return fmt::format("line {}, column {}: {}", m.line, m.column, m.what);
  return fmt::format("{}:{}:{}: {}", m.source, m.line, m.column, m.what);
}

std::variant<std::vector<std::string>, list_mistake> expand_list(std::string_view text,
                                                                 const list_options& options) {
  list_reader reader(options);
  try {
    reader.read(text, {});
  } catch (const list_mistake& m) {
    return m;
  }
  return reader.take();
}

}  // namespace gossipctl
