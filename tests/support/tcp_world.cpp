#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "scoll/coro/completion.hpp"
#include "tests/support/world.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "transport/io/address.hpp"

namespace scoll::test {
namespace {

using transport::socket_address;

/// Shuts down every connection of this process between two addresses, as the death of one of its ends would.
void break_connections(const std::string& a, const std::string& b) {
  const auto is_of = [](const result<socket_address>& end, const std::string& host) {
    return end && end->to_string().starts_with(host + ":");
  };
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    const auto near = transport::local_address(fd);
    const auto far = transport::peer_address(fd);
    if ((is_of(near, a) && is_of(far, b)) || (is_of(near, b) && is_of(far, a))) shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace

/// A rail whose attempts to connect fail while its node and the other one are parted.
class tcp_world::gated_rail final : public transport::rail {
 public:
  gated_rail(tcp_world& home, node_id node, transport::tcp_options o)
      : home_(home), node_(node), rail_(home.loop(), std::move(o)) {}

  status listen(const std::string& address, transport::accept_events& events) noexcept override {
    return rail_.listen(address, events);
  }
  std::string listen_address() const override { return rail_.listen_address(); }
  void stop_listening() noexcept override { rail_.stop_listening(); }
  status check_address(std::string_view address) const override { return rail_.check_address(address); }
  void connect(const std::string& address, transport::connect_events& waiter) noexcept override {
    rail_.connect(home_.parted(node_, address) ? nowhere() : address, waiter);
  }
  void cancel_connect(transport::connect_events& waiter) noexcept override { rail_.cancel_connect(waiter); }
  bool can_guard() const noexcept override { return rail_.can_guard(); }
  std::size_t open() const noexcept override { return rail_.open(); }
  task<void> all_closed() override { return rail_.all_closed(); }

 private:
  /// Port 1 of an address that no node has: nobody listens there.
  static std::string nowhere() { return "127.255.0.1:1"; }

  tcp_world& home_;
  node_id node_;
  transport::tcp_rail rail_;
};

tcp_world::tcp_world(family addresses, transport::reactor_options engine_options)
    : family_(addresses), reactor_(on_reactor::make(engine_options)) {}
tcp_world::~tcp_world() {
  if (!security_.keys.empty()) ::unlink(security_.keys.c_str());
}

void tcp_world::guard() {
  std::string path = "/tmp/scoll-ring-XXXXXX";
  const transport::unique_fd file(::mkstemp(path.data()));  // readable by this user alone
  const std::string key(64, 'c');
  if (::write(file.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size()))
    throw std::runtime_error("no ring of keys could be written");
  security_.mode = transport::security_mode::psk;
  security_.keys = path;
}

std::string tcp_world::host(node_id node) const {
  if (family_ == family::v6) return "[::1]";
  return "127.1." + std::to_string(node / 256 % 256) + "." + std::to_string(node % 256);
}

std::string tcp_world::address(node_id node) const {
  return host(node) + ":0";
}

std::unique_ptr<transport::rail> tcp_world::make_rail(node_id node) {
  transport::tcp_options own = options;
  if (own.bind_source.empty() && family_ == family::v4) own.bind_source = tcp_world::address(node);
  return std::make_unique<gated_rail>(*this, node, std::move(own));
}

void tcp_world::pass(nanoseconds d) {
  wait([] { return false; }, d);
}

void tcp_world::run_ready() {
  reactor_->run_once(nanoseconds::zero());
}

bool tcp_world::wait(const std::function<bool()>& done, nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    reactor_->run_once(std::chrono::milliseconds(1));
  }
  return true;
}

void tcp_world::part(node_id a, node_id b) {
  if (!can(fault::part)) return world::part(a, b);
  gaps_.push_back({a, b});
  break_connections(host(a), host(b));
}

void tcp_world::join(node_id a, node_id b) {
  std::erase_if(gaps_, [&](const gap& g) { return (g.a == a && g.b == b) || (g.a == b && g.b == a); });
}

bool tcp_world::parted(node_id from, std::string_view address) const {
  return std::any_of(gaps_.begin(), gaps_.end(), [&](const gap& g) {
    return (g.a == from && address.starts_with(host(g.b) + ":")) ||
           (g.b == from && address.starts_with(host(g.a) + ":"));
  });
}

}  // namespace scoll::test
