#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "scoll/coro/member_node.hpp"
#include "transport/io/host_address.hpp"
#include "transport/io/name_resolver.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll::transport {

/// Reads an address with or without the transport's name. Errors: `unsupported` (another transport's),
/// `invalid_argument`.
result<host_address> parse_tcp(std::string_view address);

/// One connection attempt with its time limit. It stays until the kernel has let go of it, even when its
/// waiter has gone.
///
/// ```text
///   numeric address ───────────────────► connecting ──► connected, or failed
///   host name ──► resolving ──► each of its addresses ──┘
/// ```
/// The addresses of a name share the time that is left: each may take an equal part of it, so that one that
/// does not answer leaves time for the others.
class tcp_rail::connector final : public io_completion,
                                  public timer_node,
                                  public name_wait,
                                  public list_hook<> {
 public:
  connector(tcp_rail& owner, connect_events& waiter) noexcept;
  ~connector();

  bool of(const connect_events& waiter) const noexcept { return waiter_ == &waiter; }
  void begin(const std::string& address) noexcept;
  void abandon() noexcept;

 private:
  status try_begin(const std::string& address) noexcept;
  status resolve(const host_address& to) noexcept;
  static void resolved(name_wait& wait) noexcept;
  void try_next() noexcept;
  status connect(nanoseconds limit) noexcept;

  static void expired(timer_node& node) noexcept;
  static void complete(io_completion& done, const event& e) noexcept;
  error failure_of(std::int32_t result) const noexcept;
  void succeed() noexcept;
  void fail_late() noexcept { fail(failure_); }
  void fail(const error& reason) noexcept;
  void stop_timer() noexcept;

  tcp_rail& rail_;
  gate_pass open_;
  connect_events* waiter_;
  unique_fd fd_;
  socket_address to_;
  error failure_;
  member_node<&connector::fail_late> late_{*this};

  // Of a host name only:
  bool resolving_ = false;
  std::uint16_t port_ = 0;
  std::size_t tried_ = 0;  // of the addresses
  time_point until_{};
};

}  // namespace scoll::transport
