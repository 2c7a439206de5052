#include "scoll/rail_entry.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "transport/io/address.hpp"
#include "transport/io/socket.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/rails/path_table.hpp"

namespace scoll {
namespace {

constexpr std::array kinds{rail_kind::tcp, rail_kind::verbs};
constexpr std::string_view marks = "/%!";
constexpr std::size_t most_letters = 32;

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text) noexcept {
  const auto letter = [](char c) {
    return c == '-' || c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  };
  return !text.empty() && text.size() <= most_letters && std::ranges::all_of(text, letter);
}

/// The place behind the port: an IPv6 address in brackets may hold a '%' of its own.
std::size_t end_of_address(std::string_view text) noexcept {
  const std::size_t bracket = text.find(']');
  const std::size_t from = text.starts_with('[') && bracket != std::string_view::npos ? bracket : 0;
  return std::min(text.find_first_of(marks, from), text.size());
}

/// What is wrong with an entry, without its name, which the caller gives; empty if nothing is.
using fault = std::string;

/// Reads one entry.
class entry_reader {
 public:
  fault read(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return "a rail is NAME=tcp://ADDRESS:PORT, and this has no '='";
    made_.name = trimmed(text.substr(0, equals));
    if (!is_name(made_.name)) {
      return fmt::format("the name '{}' is not 1 to {} letters, digits, '-' and '_'", made_.name,
                         most_letters);
    }
    const transport::named_address to = transport::split_name(trimmed(text.substr(equals + 1)));
    if (fault f = read_kind(to); !f.empty()) return f;
    std::string_view rest = to.place;
    if (fault f = read_address(rest.substr(0, end_of_address(rest))); !f.empty()) return f;
    rest.remove_prefix(end_of_address(rest));
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of(marks, 1), rest.size());
      if (fault f = read_mark(rest.front(), rest.substr(1, end - 1)); !f.empty()) return f;
      rest.remove_prefix(end);
    }
    return {};
  }
  rail_entry take() { return std::move(made_); }

 private:
  fault read_kind(const transport::named_address& to) {
    const auto found = std::ranges::find(kinds, to.transport, [](rail_kind each) { return to_string(each); });
    if (found != kinds.end()) {
      made_.kind = *found;
      return {};
    }
    const std::string_view begins = to.transport.empty() ? to.place : to.transport;
    return fmt::format("the address begins with '{}', and not with tcp:// or verbs://", begins);
  }
  fault read_address(std::string_view text) {
    const auto parsed = transport::socket_address::parse(text);
    if (!parsed) {
      return fmt::format("'{}' is not a numeric address with a port: {}", text, parsed.error().text());
    }
    if (is_wildcard(*parsed)) {
      return fmt::format("{} is every address of the host: a rail needs an address of its own", text);
    }
    family_ = parsed->family();
    made_.address = text;
    return {};
  }
  static bool is_wildcard(const transport::socket_address& address) noexcept {
    transport::socket_address without_port = address;
    without_port.set_port(0);
    const std::string text = without_port.to_string();
    return text == "0.0.0.0:0" || text == "[::]:0";
  }

  fault read_mark(char mark, std::string_view text) {
    if (mark == '/') return read_prefix(text);
    if (mark == '%') return read_device(text);
    if (text != "bulk") return fmt::format("'!{}' is no class that can prefer a rail: only !bulk is", text);
    made_.bulk = true;
    return {};
  }
  fault read_prefix(std::string_view text) {
    const unsigned longest = family_ == AF_INET ? 32 : 128;
    unsigned parsed = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (failed != std::errc() || end != text.data() + text.size() || parsed < 1 || parsed > longest) {
      return fmt::format("the length of the prefix, '/{}', is not 1 to {}", text, longest);
    }
    if (made_.prefix != 0) return "the length of the prefix is given twice";
    made_.prefix = static_cast<std::uint8_t>(parsed);
    return {};
  }
  fault read_device(std::string_view text) {
    const auto odd = [](char c) { return c <= ' ' || c == 0x7f; };
    if (text.empty() || text.size() >= IFNAMSIZ || std::ranges::any_of(text, odd)) {
      return fmt::format("the device, '%{}', is not the name of a network interface", text);
    }
    if (!made_.device.empty()) return "a device is given twice";
    made_.device = text;
    return {};
  }

  rail_entry made_;
  int family_ = AF_UNSPEC;
};

/// Says what is wrong with two rails together.
fault check_together(const rail_entry& one, const rail_entry& other) {
  if (one.name == other.name) return fmt::format("the name {} is given to two rails", one.name);
  const bool free_port = one.address.ends_with(":0");
  if (one.address == other.address && !free_port)
    return fmt::format("{} is also the address of rail {}", one.address, other.name);
  if (one.kind != other.kind) return {};  // messages by TCP and bulk data by RDMA may share an interface
  const std::uint8_t prefix = std::min(one.prefix, other.prefix);
  if (!one.device.empty() && !other.device.empty()) return {};
  if (!transport::same_network(one.address, other.address, prefix)) return {};
  return fmt::format(
      "rail {} is in the same network: both need a %device, because the source address chooses "
      "no interface",
      other.name);
}

}  // namespace

std::string_view to_string(rail_kind kind) noexcept {
  return kind == rail_kind::tcp ? "tcp" : "verbs";
}

rail_list parse_rails(std::string_view text) {
  rail_list all;
  std::string_view rest = trimmed(text);
  for (bool more = !rest.empty(); more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view entry = trimmed(rest.substr(0, comma));
    rest = more ? rest.substr(comma + 1) : std::string_view();
    entry_reader reader;
    fault wrong = reader.read(entry);
    rail_entry made = reader.take();
    for (const rail_entry& before : all.rails) {
      if (wrong.empty()) wrong = check_together(made, before);
    }
    if (wrong.empty() && all.rails.size() == transport::max_rails)
      wrong = fmt::format("a node has at most {} rails", transport::max_rails);
    if (!wrong.empty()) return {{}, fmt::format("entry {}, '{}': {}", all.rails.size() + 1, entry, wrong)};
    all.rails.push_back(std::move(made));
  }
  return all;
}

std::string to_string(const std::vector<rail_entry>& rails) {
  std::string text;
  for (const rail_entry& each : rails) {
    text +=
        fmt::format("{}{}={}://{}", text.empty() ? "" : ", ", each.name, to_string(each.kind), each.address);
    if (each.prefix != 0) text += fmt::format("/{}", each.prefix);
    if (!each.device.empty()) text += '%' + each.device;
    if (each.bulk) text += "!bulk";
  }
  return text;
}

}  // namespace scoll
