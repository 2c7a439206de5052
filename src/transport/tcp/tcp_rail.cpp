#include "transport/tcp/tcp_rail.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/member_node.hpp"
#include "transport/io/address.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace scoll::transport {
namespace {

constexpr nanoseconds accept_retry = std::chrono::milliseconds(50);

// The bytes of a control lane that the kernel holds and has not sent, beyond which it takes no more: one
// batch. An urgent message can overtake only what the kernel has not taken.
constexpr std::uint32_t unsent_limit = tcp_batch_bytes;

/// Reads an address with or without the transport's name.
result<socket_address> parse_tcp(std::string_view address) {
  const named_address named = split_name(address);
  if (named.transport.empty() || named.transport == "tcp") return socket_address::parse(named.place);
  return make_error(errc::unsupported, "{} is not a tcp address", address);
}

}  // namespace

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

/// One connection attempt with its time limit. It stays until the kernel has let go of it, even when its
/// waiter has gone.
class tcp_rail::connector final : public io_completion, public timer_node, public list_hook<> {
 public:
  connector(tcp_rail& owner, connect_events& waiter) noexcept
      : io_completion(&complete),
        timer_node(&expired),
        rail_(owner),
        open_(owner.open_.pass()),
        waiter_(&waiter) {}
  ~connector() {
    if (armed()) rail_.reactor_.disarm(*this);
    if (late_.scheduled()) rail_.reactor_.unschedule(late_);
  }

  bool of(const connect_events& waiter) const noexcept { return waiter_ == &waiter; }

  void begin(const std::string& address) noexcept {
    if (const auto s = try_begin(address); !s) {
      failure_ = s.error();
      rail_.reactor_.schedule(late_);
    }
  }

  void abandon() noexcept {
    waiter_ = nullptr;
    unlink();
    if (!pending()) {
      delete this;
      return;
    }
    rail_.reactor_.cancel(*this);
  }

 private:
  status try_begin(const std::string& address) noexcept {
    auto parsed = parse_tcp(address);
    if (!parsed) return parsed.error();
    to_ = *parsed;
    auto fd = open_stream(to_.family());
    if (!fd) return fd.error();
    fd_ = std::move(*fd);
    if (const auto s = rail_.prepare(fd_.get()); !s) return s;
    if (!rail_.options_.bind_source.empty()) {
      if (const auto s = rail_.bind_preferred(fd_.get(), to_.family()); !s) return s;
    }
    rail_.reactor_.arm(*this, rail_.reactor_.now() + rail_.options_.connect_limit);
    rail_.reactor_.connect(fd_.get(), to_.data(), to_.size(), *this);
    return {};
  }

  static void expired(timer_node& node) noexcept {
    auto& self = static_cast<connector&>(node);
    if (self.pending()) self.rail_.reactor_.cancel(self);
  }

  static void complete(io_completion& done, const event& e) noexcept {
    auto& self = static_cast<connector&>(done);
    if (self.waiter_ == nullptr) {
      delete &self;
      return;
    }
    if (e.result < 0) {
      const bool late = e.result == -ECANCELED;
      return self.fail(
          late ? make_error(errc::unreachable, "connect to {} took too long", self.to_.to_string())
               : make_error(errc::unreachable, "connect: {}",
                            error::system(-e.result, "").std_code().message()));
    }
    tcp_rail& rail = self.rail_;
    connect_events& waiter = *self.waiter_;
    unique_fd fd = std::move(self.fd_);
    const std::string peer = self.to_.to_string();
    delete &self;
    waiter.on_connected(*new tcp_link(rail, std::move(fd), peer));
  }

  void fail_late() noexcept { fail(failure_); }
  void fail(const error& reason) noexcept {
    connect_events& waiter = *waiter_;
    const error copy = reason;
    delete this;
    waiter.on_connect_failed(copy);
  }

  tcp_rail& rail_;
  gate_pass open_;
  connect_events* waiter_;
  unique_fd fd_;
  socket_address to_;
  error failure_;
  member_node<&connector::fail_late> late_{*this};
};

tcp_rail::tcp_rail(reactor& r, tcp_options options)
    : reactor_(r),
      options_(std::move(options)),
      send_buffers_(tcp_batch_bytes, options_.send_buffers),
      frame_buffers_(max_frame_bytes, options_.frame_buffers) {}

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

status tcp_rail::listen(const std::string& address, accept_events& events) noexcept {
  if (listener_ != nullptr) return error(errc::already_exists, "this rail is already listening");
  auto parsed = parse_tcp(address);
  if (!parsed) return parsed.error();
  auto fd = open_listener(*parsed, options_.backlog);
  if (!fd) return fd.error();
  const auto bound = local_address(fd->get());
  if (!bound) return bound.error();
  listen_address_ = bound->to_string();
  listener_ = new listener(*this, std::move(*fd), events);
  return {};
}

void tcp_rail::stop_listening() noexcept {
  if (listener_ != nullptr) listener_->stop();
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
