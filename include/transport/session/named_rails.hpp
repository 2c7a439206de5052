#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "transport/io/address.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// Several transports as one rail; an address names the transport it means.
///
/// ```cpp
/// named_rails rails;
/// rails.add("tcp", tcp).value();
/// rails.add("sim", simulated).value();
/// scoll::node n(loop, rails, options);
/// n.listen("tcp://0.0.0.0:7001;bulk=sim://n1");
/// n.add_peer(2, "tcp://10.0.0.2:7001;bulk=sim://n2");
/// ```
///
/// An address without a transport's name belongs to the transport that was added first. The transports must
/// outlive this rail.
class named_rails final : public rail {
 public:
  /// Adds a transport under a name, before any other call. Errors: `already_exists`; `invalid_argument` for
  /// an empty name.
  status add(std::string name, rail& transport);

  /// Listens in one place, or in two if bulk has its own; each transport listens in at most one. Errors:
  /// `unsupported` (a name that was not added), `invalid_argument` (both places in one transport), and the
  /// transport's own.
  status listen(const std::string& address, accept_events& events) noexcept override;
  /// The address with the transports' names, as peers may be told.
  std::string listen_address() const override;
  void stop_listening() noexcept override;
  /// Refuses the names of transports that were not added, and what the named transport refuses.
  status check_address(std::string_view address) const override;
  void connect(const std::string& address, connect_events& waiter) noexcept override;
  void cancel_connect(connect_events& waiter) noexcept override;
  /// Counts the registrars of all transports, in the order in which the transports were added.
  memory_registrar* registrar(std::size_t number) noexcept override;
  std::size_t open() const noexcept override;
  task<void> all_closed() override;

 private:
  struct entry {
    std::string name;
    rail* transport;
    bool listening = false;
  };
  entry* find(std::string_view name) noexcept;
  const entry* find(std::string_view name) const noexcept;
  result<entry*> listen_in(std::string_view address, accept_events& events) noexcept;

  std::vector<entry> entries_;
  entry* message_ = nullptr;
  entry* bulk_ = nullptr;
};

}  // namespace scoll::transport
