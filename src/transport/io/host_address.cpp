#include "transport/io/host_address.hpp"

#include <netdb.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <memory>
#include <system_error>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t most_name_bytes = 253;
constexpr std::size_t most_label_bytes = 63;

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

constexpr bool is_hexadecimal(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Calls `check(label)` for each part between dots, until one is at fault. A dot at the end is allowed.
template <class Check>
const char* first_fault(std::string_view name, Check check) noexcept {
  if (name.ends_with('.')) name.remove_suffix(1);
  while (true) {
    const auto dot = name.find('.');
    if (const char* const fault = check(name.substr(0, dot)); fault != nullptr) return fault;
    if (dot == std::string_view::npos) return nullptr;
    name.remove_prefix(dot + 1);
  }
}

const char* fault_of_label(std::string_view label) noexcept {
  if (label.empty()) return "a label of the name is empty";
  if (label.size() > most_label_bytes) return "a label of the name is too long";
  if (label.starts_with('-') || label.ends_with('-')) return "a label begins or ends with '-'";
  return nullptr;
}

/// True for hosts that `getaddrinfo` would read as numbers in some form, such as 127.1, 10.0.0.256 or 0x7f.
bool ends_in_a_number(std::string_view name) noexcept {
  if (name.ends_with('.')) name.remove_suffix(1);
  const std::string_view last = name.substr(name.rfind('.') + 1);
  if (last.starts_with("0x") || last.starts_with("0X"))
    return std::ranges::all_of(last.substr(2), is_hexadecimal);
  return !last.empty() && std::ranges::all_of(last, is_digit);
}

/// What is wrong with a host name; null if nothing is.
const char* fault_of_name(std::string_view name) noexcept {
  if (name.empty()) return "the host is missing";
  if (name.find_first_of("[]") != std::string_view::npos) return "the brackets hold no IPv6 address";
  if (name.find(':') != std::string_view::npos) return "IPv6 needs brackets, as in [::1]:7001";
  const auto allowed = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.'; };
  if (!std::ranges::all_of(name, allowed)) return "a character no host name has";
  if (name.size() > most_name_bytes) return "the name is longer than 253 bytes";
  if (ends_in_a_number(name)) return "this is no IPv4 address";
  return first_fault(name, &fault_of_label);
}

error failure_of(int code, int errno_value) {
  if (code == EAI_SYSTEM) return {errc::not_found, std::generic_category().message(errno_value)};
  return {errc::not_found, ::gai_strerror(code)};
}

struct free_list {
  void operator()(addrinfo* list) const noexcept { ::freeaddrinfo(list); }
};

}  // namespace

result<host_address> host_address::parse(std::string_view text) {
  host_address to;
  if (auto number = socket_address::parse(text)) {
    to.number = *number;
    to.port = to.number.port();
    return to;
  }
  const auto refuse = [text](const char* why) {
    return make_error(errc::invalid_argument, "address '{:.44}': {}", text, why);
  };
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) return refuse("the port is missing");
  const std::string_view port = text.substr(colon + 1);
  const auto read = std::from_chars(port.data(), port.data() + port.size(), to.port);
  if (read.ec != std::errc{} || read.ptr != port.data() + port.size())
    return refuse("the port is not in 0..65535");
  to.name = text.substr(0, colon);
  if (const char* const fault = fault_of_name(to.name); fault != nullptr) return refuse(fault);
  return to;
}

result<address_list> resolve_host(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), nullptr, &wanted, &found); failed != 0)
    return failure_of(failed, errno);
  const std::unique_ptr<addrinfo, free_list> owned(found);
  address_list all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const auto address = socket_address::from(each->ai_addr, each->ai_addrlen);
    if (address.family() != AF_UNSPEC && std::ranges::find(all, address) == all.end()) all.push_back(address);
  }
  if (all.empty()) return error(errc::not_found, "the name has no IP address");
  return all;
}

}  // namespace scoll::transport
