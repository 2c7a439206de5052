#include "participant_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include "range_expression.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/address.hpp"
#include "transport/io/socket.hpp"

namespace gossipctl {
namespace {

using scoll::gossip::participant_entry;
using scoll::gossip::participant_id;
using scoll::transport::socket_address;

bool is_separator(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',';
}

/// Adds the default port where it is missing: "10.0.0.1", "fd00::1" and "[fd00::1]" have no port.
std::string with_port(const std::string& address, std::uint16_t port) {
  const bool bracketed = !address.empty() && address.front() == '[';
  const auto colons = std::count(address.begin(), address.end(), ':');
  const bool has_port = bracketed ? address.find("]:") != std::string::npos : colons == 1;
  if (has_port) return address;
  if (port == 0) throw range_mistake{0, fmt::format("'{}' names no port, and there is no default", address)};
  return bracketed || colons == 0 ? fmt::format("{}:{}", address, port)
                                  : fmt::format("[{}]:{}", address, port);
}

/// One part of an entry, the id or an address, with all that it stands for.
struct part {
  std::size_t at;  // within the entry
  std::string_view text;
  std::vector<std::string> all;
};

/// The name of a transport in front is no part of what is counted.
part expanded(std::string_view entry, std::size_t begin, std::size_t end, std::size_t most) {
  part p{begin, entry.substr(begin, end - begin), {}};
  if (p.text.empty()) throw range_mistake{begin, "expected an address or an id"};
  const std::string_view counted = scoll::transport::split_name(p.text).place;
  const std::size_t name = p.text.size() - counted.size();
  try {
    p.all = expand_ranges(counted, most);
  } catch (const range_mistake& m) {
    throw range_mistake{begin + name + m.column, m.what};
  }
  for (std::string& each : p.all) each.insert(0, p.text.substr(0, name));
  return p;
}

/// An entry with its parts: `ID=ADDRESS+ADDRESS`, or one address.
struct entry_parts {
  entry_parts(std::string_view entry, std::size_t most) {
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos) id = expanded(entry, 0, equals, most);
    std::size_t at = id ? equals + 1 : 0;
    for (std::size_t plus = at; plus != std::string_view::npos; at = plus + 1) {
      plus = entry.find('+', at);
      addresses.push_back(expanded(entry, at, std::min(plus, entry.size()), most));
    }
    if (!id && addresses.size() > 1)
      throw range_mistake{addresses[1].at, "several addresses need an id, as in 7=ADDRESS+ADDRESS,"};
    for (const part& p : addresses) check_step(p);
    if (id) check_step(*id);
  }

  std::size_t count() const { return addresses.front().all.size(); }

  void check_step(const part& p) const {
    if (p.all.size() == count()) return;
    throw range_mistake{p.at, fmt::format("'{}' counts to {} and '{}' to {}", addresses.front().text, count(),
                                          p.text, p.all.size())};
  }

  std::optional<part> id;
  std::vector<part> addresses;  // by rail
};

participant_id read_id(const part& p, std::size_t number) {
  const std::string& text = p.all[number];
  participant_id id = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (failed == std::errc() && end == text.data() + text.size() && id != 0) return id;
  throw range_mistake{p.at, fmt::format("'{}' is no id: expected a number from 1 on", text)};
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
  std::vector<participant_entry> take() { return std::move(entries_); }

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
      const entry_parts all(text, options_.most);
      for (std::size_t i = 0; i != all.count(); ++i) add(all, i);
    } catch (const range_mistake& w) {
      throw list_mistake{source, line, column + w.column + 1,
                         fmt::format("{} in '{}'", w.what, text.substr(0, 80))};
    }
  }

  void include(const std::string& path, const std::string& from) {
    if (!from.empty()) throw range_mistake{0, "a file of participants names another file"};
    const auto content = options_.read_file ? options_.read_file(path) : std::nullopt;
    if (!content) throw range_mistake{1, fmt::format("the file {} cannot be read", path)};
    read(*content, path);
  }

  void add(const entry_parts& from, std::size_t number) {
    if (entries_.size() == options_.most) throw range_mistake{0, too_many_participants(options_.most)};
    participant_entry entry;
    if (from.id) entry.id = read_id(*from.id, number);
    for (std::size_t rail = 0; rail != from.addresses.size(); ++rail)
      entry.addresses.push_back(read_address(from.addresses[rail], number, rail));
    entries_.push_back(std::move(entry));
  }

  std::string read_address(const part& from, std::size_t number, std::size_t rail) {
    const std::string& spelled = from.all[number];
    const auto named = scoll::transport::split_name(spelled);
    const bool rdma = named.transport == "verbs";
    if (!named.transport.empty() && !rdma)
      throw range_mistake{from.at,
                          fmt::format("'{}': gossip goes by UDP, or by RDMA with verbs://", spelled)};
    const auto address = socket_address::parse(with_port(std::string(named.place), options_.default_port));
    if (!address)
      throw range_mistake{from.at, fmt::format("'{}' is no address: {}", spelled, address.error().text())};
    if (address->port() == 0) throw range_mistake{from.at, fmt::format("'{}' has port 0", spelled)};
    if (kinds_.size() <= rail) kinds_.push_back({address->family(), rdma});
    if (kinds_[rail].rdma != rdma)
      throw range_mistake{from.at, fmt::format("'{}' is by {}, unlike those before", spelled,
                                               rdma ? "RDMA" : "UDP, without verbs://")};
    if (kinds_[rail].family != address->family())
      throw range_mistake{from.at,
                          fmt::format("'{}' is of another address family than those before", spelled)};
    const std::string text = address->to_string();
    if (!seen_.insert(text).second) throw range_mistake{from.at, fmt::format("{} is there twice", text)};
    return rdma ? "verbs://" + text : text;
  }

  const list_options& options_;
  std::vector<participant_entry> entries_;
  std::unordered_set<std::string> seen_;
  struct address_kind {
    int family;
    bool rdma;
  };
  std::vector<address_kind> kinds_;  // by rail
};

}  // namespace

std::string to_string(const list_mistake& m) {
  if (m.source.empty()) return fmt::format("line {}, column {}: {}", m.line, m.column, m.what);
  return fmt::format("{}:{}:{}: {}", m.source, m.line, m.column, m.what);
}

std::variant<std::vector<participant_entry>, list_mistake> expand_list(std::string_view text,
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
