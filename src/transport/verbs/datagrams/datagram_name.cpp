#include "transport/verbs/datagrams/datagram_name.hpp"

#include <algorithm>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "transport/io/address.hpp"
#include "transport/verbs/mapped_address.hpp"

namespace scoll::transport::verbs {
namespace {

bool is_link_local(const gid& host) noexcept {
  return host[0] == 0xfe && (host[1] & 0xc0U) == 0x80U;
}

}  // namespace

std::optional<datagram_name> name_of(const socket_address& address) noexcept {
  datagram_name name;
  name.port = address.port();
  if (address.family() == AF_INET) {
    name.host = mapped({});
    const auto& v4 = *reinterpret_cast<const sockaddr_in*>(address.data());
    std::memcpy(name.host.data() + mapped_prefix.size(), &v4.sin_addr, sizeof v4.sin_addr);
  } else if (address.family() == AF_INET6) {
    const auto& v6 = *reinterpret_cast<const sockaddr_in6*>(address.data());
    std::memcpy(name.host.data(), &v6.sin6_addr, name.host.size());
    if (is_mapped(name.host)) return std::nullopt;
  }
  if (name.port == 0 || name.host == gid{} || name.host == mapped({})) return std::nullopt;
  return name;
}

socket_address address_of(const datagram_name& name, const socket_address& own) noexcept {
  socket_address made;
  if (is_mapped(name.host)) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    std::memcpy(&v4.sin_addr, name.host.data() + mapped_prefix.size(), sizeof v4.sin_addr);
    made = socket_address::from(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    std::memcpy(&v6.sin6_addr, name.host.data(), name.host.size());
    if (is_link_local(name.host) && own.family() == AF_INET6)
      v6.sin6_scope_id = reinterpret_cast<const sockaddr_in6*>(own.data())->sin6_scope_id;
    made = socket_address::from(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  }
  made.set_port(name.port);
  return made;
}

result<socket_address> parse_name(std::string_view text) {
  const named_address named = split_name(text);
  if (named.transport != "verbs")
    return make_error(errc::invalid_argument, "address '{:.60}': expected verbs://10.0.0.1:7002", text);
  return socket_address::parse(named.place);
}

}  // namespace scoll::transport::verbs
