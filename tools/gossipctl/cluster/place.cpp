#include "place.hpp"

#include <fmt/format.h>
#include <ifaddrs.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <unordered_set>

#include "transport/io/address.hpp"
#include "transport/io/socket.hpp"

namespace gossipctl {
namespace {

using scoll::transport::socket_address;

/// An address without verbs://.
std::string_view bare(std::string_view address) {
  return scoll::transport::split_name(address).place;
}

/// Turns "10.0.0.1:7400" into the folder name "10.0.0.1-7400".
std::string folder_name(std::string address) {
  std::erase_if(address, [](char c) { return c == '[' || c == ']'; });
  std::replace(address.begin(), address.end(), ':', '-');
  return address;
}

/// Returns the address without its port, as sockets spell it; empty for an unset address.
std::string host_of(socket_address address) {
  if (address.family() == AF_UNSPEC) return {};
  address.set_port(0);
  return address.to_string();
}

std::unordered_set<std::string> local_hosts() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> all(first, &::freeifaddrs);
  std::unordered_set<std::string> hosts;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    hosts.insert(host_of(socket_address::from(each->ifa_addr, size)));
  }
  return hosts;
}

/// All of 127.0.0.0/8 is local, whatever the interface lists.
bool is_loopback(const socket_address& address) {
  return address.family() == AF_INET && address.to_string().starts_with("127.");
}

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<participant_index> find_by_number(const config& c, std::string_view name) {
  constexpr std::string_view before_id = "id:";
  if (name.starts_with(before_id)) {
    const auto id = read_number<scoll::gossip::participant_id>(name.substr(before_id.size()));
    return id ? c.shared->index_of_id(*id) : std::nullopt;
  }
  const auto index = read_number<participant_index>(name);
  return index && *index < c.shared->size() ? index : std::nullopt;
}

}  // namespace

place::place(const config& c, participant_index who)
    : folder(c.directory / folder_name(std::string(bare(c.shared->address(who))))) {}

std::vector<participant_index> local_participants(const config& c) {
  const auto hosts = local_hosts();
  std::vector<participant_index> found;
  const auto is_here = [&hosts](const std::string& text) {
    const auto address = socket_address::parse(bare(text));
    return address && (is_loopback(*address) || hosts.contains(host_of(*address)));
  };
  for (participant_index i = 0; i != c.shared->size(); ++i) {
    const auto own = c.shared->addresses(i);
    if (std::any_of(own.begin(), own.end(), is_here)) found.push_back(i);
  }
  return found;
}

std::variant<participant_index, std::string> find_participant(const config& c, std::string_view name) {
  if (const auto index = find_by_number(c, name)) return *index;
  if (const auto exact = c.shared->index_of(name)) return *exact;
  std::vector<participant_index> found;
  const std::string with_port = fmt::format("{}:", name);
  const std::string bracketed = fmt::format("[{}]:", name);
  for (participant_index i = 0; i != c.shared->size(); ++i) {
    const auto own = c.shared->addresses(i);
    if (std::any_of(own.begin(), own.end(), [&](const std::string& address) {
          return bare(address) == name || bare(address).starts_with(with_port) ||
                 bare(address).starts_with(bracketed);
        }))
      found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return fmt::format("'{}' is no participant: give an address of {}, or an index below {}", name,
                       c.file.string(), c.shared->size());
  }
  return fmt::format("'{}' could be {} or {}: give the port too", name, c.shared->address(found[0]),
                     c.shared->address(found[1]));
}

}  // namespace gossipctl
