#include "transport/tcp/tcp_connector.hpp"

#include <cerrno>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace scoll::transport {

tcp_rail::connector::connector(tcp_rail& owner, connect_events& waiter) noexcept
    : io_completion(&complete),
      timer_node(&expired),
      name_wait(&resolved),
      rail_(owner),
      open_(owner.open_.pass()),
      waiter_(&waiter) {}

tcp_rail::connector::~connector() {
  stop_timer();
  if (late_.scheduled()) rail_.reactor_.unschedule(late_);
}

void tcp_rail::connector::stop_timer() noexcept {
  if (armed()) rail_.reactor_.disarm(*this);
}

void tcp_rail::connector::begin(const std::string& address) noexcept {
  if (const auto s = try_begin(address); !s) {
    failure_ = s.error();
    stop_timer();
    rail_.reactor_.schedule(late_);
  }
}

status tcp_rail::connector::try_begin(const std::string& address) noexcept {
  const auto to = parse_tcp(address);
  if (!to) return to.error();
  if (!to->name.empty()) return resolve(*to);
  to_ = to->number;
  return connect(rail_.options_.connect_limit);
}

/// Ends the attempt without a further call to its waiter. What the kernel or a thread still has keeps it
/// here; a look-up under way does not.
void tcp_rail::connector::abandon() noexcept {
  waiter_ = nullptr;
  list_hook<>::unlink();
  if (resolving_) {
    stop_timer();
    if (rail_.names().cancel(*this)) delete this;
    return;
  }
  if (!pending()) {
    delete this;
    return;
  }
  rail_.reactor_.cancel(*this);
}

// ---- host names

status tcp_rail::connector::resolve(const host_address& to) noexcept {
  port_ = to.port;
  until_ = rail_.reactor_.now() + rail_.options_.connect_limit;
  if (const auto s = rail_.names().begin(*this, std::string(to.name)); !s) return s;
  resolving_ = true;
  rail_.reactor_.arm(*this, until_);
  return {};
}

void tcp_rail::connector::resolved(name_wait& wait) noexcept {
  auto& self = static_cast<connector&>(wait);
  self.resolving_ = false;
  if (self.waiter_ == nullptr) {
    delete &self;
    return;
  }
  if (self.no_address_) {
    return self.fail(
        make_error(errc::unreachable, "the name cannot be resolved: {}", self.no_address_.text()));
  }
  self.failure_ = {errc::unreachable, "the name has no address"};
  self.try_next();
}

/// Begins to connect to the next address that can be tried, or reports why the last one failed.
void tcp_rail::connector::try_next() noexcept {
  stop_timer();
  while (tried_ < addresses_.size()) {
    const nanoseconds left = until_ - rail_.reactor_.now();
    const auto shares = static_cast<std::int64_t>(addresses_.size() - tried_);
    to_ = addresses_[tried_++];
    to_.set_port(port_);
    const auto begun = connect(left / shares);
    if (begun) return;
    failure_ = begun.error();
  }
  fail(failure_);
}

// ---- one address

status tcp_rail::connector::connect(nanoseconds limit) noexcept {
  auto fd = open_stream(to_.family());
  if (!fd) return fd.error();
  fd_ = std::move(*fd);
  if (const auto s = rail_.prepare(fd_.get()); !s) return s;
  if (!rail_.options_.device.empty()) {
    if (const auto s = bind_device(fd_.get(), rail_.options_.device); !s) return s;
  }
  if (!rail_.options_.bind_source.empty()) {
    if (const auto s = rail_.bind_preferred(fd_.get(), to_.family()); !s) return s;
  }
  rail_.reactor_.arm(*this, rail_.reactor_.now() + limit);
  rail_.reactor_.connect(fd_.get(), to_.data(), to_.size(), *this);
  return {};
}

void tcp_rail::connector::expired(timer_node& node) noexcept {
  auto& self = static_cast<connector&>(node);
  if (self.pending()) return self.rail_.reactor_.cancel(self);
  if (!self.resolving_ || !self.rail_.names().cancel(self)) return;
  self.resolving_ = false;
  self.fail({errc::unreachable, "resolving the name took too long"});
}

void tcp_rail::connector::complete(io_completion& done, const event& e) noexcept {
  auto& self = static_cast<connector&>(done);
  if (self.waiter_ == nullptr) {
    delete &self;
    return;
  }
  if (e.result >= 0) return self.succeed();
  self.failure_ = self.failure_of(e.result);
  self.try_next();
}

error tcp_rail::connector::failure_of(std::int32_t result) const noexcept {
  if (result == -ECANCELED)
    return make_error(errc::unreachable, "connect to {} took too long", to_.to_string());
  const std::string why = error::system(-result, "").std_code().message();
  if (addresses_.empty()) return make_error(errc::unreachable, "connect: {}", why);
  return make_error(errc::unreachable, "connect to {}: {}", to_.to_string(), why);
}

void tcp_rail::connector::succeed() noexcept {
  tcp_rail& rail = rail_;
  connect_events& waiter = *waiter_;
  unique_fd fd = std::move(fd_);
  const std::string peer = to_.to_string();
  delete this;
  waiter.on_connected(*new tcp_link(rail, std::move(fd), peer));
}

void tcp_rail::connector::fail(const error& reason) noexcept {
  connect_events& waiter = *waiter_;
  const error copy = reason;
  delete this;
  waiter.on_connect_failed(copy);
}

}  // namespace scoll::transport
