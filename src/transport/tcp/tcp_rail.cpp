#include "transport/tcp/tcp_rail.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/io/address.hpp"
#include "transport/io/name_resolver.hpp"
#include "transport/tcp/interface_watch.hpp"
#include "transport/tcp/tcp_connector.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace scoll::transport {
namespace {

constexpr nanoseconds accept_retry = std::chrono::milliseconds(50);

// The bytes of a control lane that the kernel holds and has not sent, beyond which it takes no more: one
// batch. An urgent message can overtake only what the kernel has not taken.
constexpr std::uint32_t unsent_limit = tcp_batch_bytes;

}  // namespace

result<host_address> parse_tcp(std::string_view address) {
  const named_address named = split_name(address);
  if (named.transport.empty() || named.transport == "tcp") return host_address::parse(named.place);
  return make_error(errc::unsupported, "{:.60} is not a tcp address{}", address, remedy_for(named.transport));
}

/// The listening socket and its endless accept.
class tcp_rail::listener final : public io_completion, public timer_node {
 public:
  listener(tcp_rail& owner, unique_fd fd, accept_events& events) noexcept
      : io_completion(&complete), timer_node(&try_again), rail_(owner), fd_(std::move(fd)), events_(&events) {
    rail_.reactor_.accept_multishot(fd_.get(), *this);
  }
  ~listener() = default;

  void stop() noexcept {
    events_ = nullptr;
    closing_ = rail_.open_.pass();
    rail_.listener_ = nullptr;
    if (armed()) rail_.reactor_.disarm(*this);
    if (!pending()) return gone();
    rail_.reactor_.cancel(*this);
  }

 private:
  static void complete(io_completion& self, const event& e) noexcept {
    auto& l = static_cast<listener&>(self);
    if (e.result >= 0) l.accepted(unique_fd(e.result));
    if (e.more) return;
    if (l.events_ == nullptr) return l.gone();
    // The process may be out of descriptors; the connections wait in the kernel meanwhile.
    l.rail_.reactor_.arm(l, l.rail_.reactor_.now() + accept_retry);
  }

  static void try_again(timer_node& node) noexcept {
    auto& l = static_cast<listener&>(node);
    l.rail_.reactor_.accept_multishot(l.fd_.get(), l);
  }

  void accepted(unique_fd fd) noexcept {
    if (events_ == nullptr || !rail_.prepare(fd.get())) return;
    const auto peer = peer_address(fd.get());
    events_->on_accepted(*new tcp_link(rail_, std::move(fd), peer ? peer->to_string() : "unknown"));
  }

  void gone() noexcept { delete this; }

  tcp_rail& rail_;
  gate_pass closing_;  // once it has been stopped
  unique_fd fd_;
  accept_events* events_;
};

tcp_rail::tcp_rail(reactor& r, tcp_options options)
    : reactor_(r),
      options_(std::move(options)),
      send_buffers_(tcp_batch_bytes, options_.send_buffers),
      sealed_buffers_(tcp_sealed_bytes, options_.send_buffers),
      frame_buffers_(max_frame_bytes, options_.frame_buffers) {
  frame_buffers_.let_keep(options_.frame_buffers / 2);
  if (!options_.resolve) options_.resolve = &resolve_host;
}

tcp_rail::~tcp_rail() {
  SCOLL_ASSERT(
      open_.empty() && listener_ == nullptr,
      "a rail died before its links: await node.shutdown(...), then destroy the node, then the rail");
}

status tcp_rail::prepare(int fd) const noexcept {
  if (const auto s = set_no_delay(fd); !s) return s;
  if (const auto s = set_unsent_limit(fd, unsent_limit); !s) return s;
  if (options_.keep_alive > nanoseconds::zero()) {
    if (const auto s = set_keep_alive(fd, options_.keep_alive); !s) return s;
  }
  if (options_.unacknowledged_limit > nanoseconds::zero()) {
    if (const auto s = set_user_timeout(fd, options_.unacknowledged_limit); !s) return s;
  }
  if (options_.congestion_control.empty()) return {};
  return set_congestion_control(fd, options_.congestion_control.c_str());
}

status tcp_rail::bind_preferred(int fd, int family) const noexcept {
  const auto source = socket_address::parse(options_.bind_source);
  if (!source) return source.error();
  return source->family() == family ? bind_source(fd, *source) : status{};
}

/// Opens a listener at the first address of a host that can be bound.
result<unique_fd> tcp_rail::open_listener_at(std::string_view address) const {
  const auto to = parse_tcp(address);
  if (!to) return to.error();
  if (to->name.empty()) return open_listener(to->number, options_.backlog, options_.device);
  auto found = options_.resolve(std::string(to->name));
  if (!found) {
    return make_error(errc::not_found, "listen on {:.44}: the name cannot be resolved: {}", address,
                      found.error().text());
  }
  error failed = make_error(errc::not_found, "listen on {:.44}: the name has no address", address);
  for (socket_address& each : *found) {
    each.set_port(to->port);
    auto fd = open_listener(each, options_.backlog, options_.device);
    if (fd) return fd;
    failed = fd.error();
  }
  return failed;
}

status tcp_rail::listen(const std::string& address, accept_events& events) noexcept {
  if (listener_ != nullptr) return error(errc::already_exists, "this rail is already listening");
  auto fd = open_listener_at(address);
  if (!fd) return fd.error();
  const auto bound = local_address(fd->get());
  if (!bound) return bound.error();
  listen_address_ = bound->to_string();
  listener_ = new listener(*this, std::move(*fd), events);
  if (options_.watch_interface)
    watch_ = interface_watch::begin(reactor_, open_, {*bound, options_.device}, events);
  return {};
}

void tcp_rail::stop_listening() noexcept {
  if (listener_ != nullptr) listener_->stop();
  if (watch_ != nullptr) std::exchange(watch_, nullptr)->stop();
}

status tcp_rail::check_address(std::string_view address) const {
  const auto to = parse_tcp(address);
  if (!to) return error(errc::invalid_argument, to.error().text());
  if (to->port != 0) return {};
  return make_error(errc::invalid_argument, "address '{:.44}': port 0 cannot be connected to", address);
}

name_resolver& tcp_rail::names() {
  if (names_ == nullptr) names_ = std::make_unique<name_resolver>(reactor_, options_.resolve);
  return *names_;
}

void tcp_rail::connect(const std::string& address, connect_events& waiter) noexcept {
  auto* attempt = new connector(*this, waiter);
  connecting_.push_back(*attempt);
  attempt->begin(address);
}

void tcp_rail::cancel_connect(connect_events& waiter) noexcept {
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) {
    if (c->of(waiter)) return c->abandon();
  }
}

}  // namespace scoll::transport
