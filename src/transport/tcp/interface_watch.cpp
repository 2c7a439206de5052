#include "transport/tcp/interface_watch.hpp"

#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

// Messages of the kernel are not read: they say that something has changed, and `getifaddrs` says what is the
// case now. So a message that is lost, or of a form that is not known, does no harm.
namespace scoll::transport {
namespace {

/// What changes within this time is looked at once.
constexpr nanoseconds settling = std::chrono::milliseconds(20);

socket_address without_port(socket_address of) noexcept {
  of.set_port(0);
  return of;
}

bool is_wildcard(const socket_address& address) noexcept {
  if (address.family() == AF_INET) {
    in_addr bits{};
    std::memcpy(&bits, &reinterpret_cast<const sockaddr_in*>(address.data())->sin_addr, sizeof bits);
    return bits.s_addr == INADDR_ANY;
  }
  return address.family() == AF_INET6 &&
         IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(address.data())->sin6_addr);
}

socket_address address_of(const ifaddrs& entry) noexcept {
  if (entry.ifa_addr == nullptr) return {};
  const bool v6 = entry.ifa_addr->sa_family == AF_INET6;
  return socket_address::from(entry.ifa_addr, v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
}

result<unique_fd> open_news() {
  unique_fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return error(errc::unsupported, "no netlink socket");
  sockaddr_nl own{};
  own.nl_family = AF_NETLINK;
  own.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
    return error(errc::unsupported, "no news of network interfaces");
  return fd;
}

}  // namespace

bool is_usable(const interface_place& place) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return true;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
  const socket_address wanted = without_port(place.address);
  const bool anywhere = is_wildcard(wanted);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    constexpr unsigned running = IFF_UP | IFF_RUNNING;
    if ((each->ifa_flags & running) != running) continue;
    if (!place.device.empty() && place.device != each->ifa_name) continue;
    if (anywhere || without_port(address_of(*each)) == wanted) return true;
  }
  return false;
}

interface_watch* interface_watch::begin(reactor& loop, gate& open, interface_place place,
                                        accept_events& events) {
  auto fd = open_news();
  if (!fd) return nullptr;
  return new interface_watch(loop, open, std::move(*fd), std::move(place), events);
}

interface_watch::interface_watch(reactor& loop, gate& open, unique_fd fd, interface_place place,
                                 accept_events& events)
    : io_completion(&complete),
      timer_node(&look),
      reactor_(loop),
      open_(open),
      fd_(std::move(fd)),
      place_(std::move(place)),
      events_(&events),
      usable_(is_usable(place_)) {
  listen();
}

void interface_watch::listen() noexcept {
  reactor_.receive(fd_.get(), news_, *this);
}

void interface_watch::stop() noexcept {
  events_ = nullptr;
  closing_ = open_.pass();
  if (armed()) reactor_.disarm(*this);
  if (!pending()) return delete this;
  reactor_.cancel(*this);
}

/// The kernel had more to tell than there was room for: that is a reason to look, too. After any other failure
/// nothing more is heard.
void interface_watch::complete(io_completion& self, const event& e) noexcept {
  auto& watch = static_cast<interface_watch&>(self);
  if (watch.events_ == nullptr) return delete &watch;
  if (e.result >= 0 || e.result == -ENOBUFS || e.result == -EINTR || e.result == -EAGAIN)
    watch.reactor_.arm(watch, watch.reactor_.now() + settling);
}

void interface_watch::look(timer_node& node) noexcept {
  auto& watch = static_cast<interface_watch&>(node);
  watch.listen();  // before the look, so that what changes after it is heard of
  const bool usable = is_usable(watch.place_);
  if (std::exchange(watch.usable_, usable) != usable) watch.events_->on_interface_hint(usable);
}

}  // namespace scoll::transport
