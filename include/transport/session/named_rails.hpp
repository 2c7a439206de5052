#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/io/address.hpp"
#include "transport/session/link.hpp"
#include "transport/session/rails/rail_set.hpp"

namespace scoll::transport {

/// What becomes of bulk data while the transport that an address names for it cannot be used.
enum class bulk_use : std::uint8_t {
  preferred,  ///< it goes by the transport of the messages, and returns when its own is back
  only,       ///< its exchanges fail, so that it never burdens the network of the messages
};

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
///
/// For an endpoint, each transport is a rail of its own (docs/rails.md), and the paths to a peer lead from a
/// transport to the same one. Messages prefer the first place of an address, and bulk data the other one.
/// With `bulk_use::only` there is one rail instead, and bulk data knows no other way.
class named_rails final : public rail {
 public:
  explicit named_rails(bulk_use use = bulk_use::preferred) noexcept : use_(use) {}
  ~named_rails() override;
  named_rails(const named_rails&) = delete;
  named_rails& operator=(const named_rails&) = delete;

  /// Adds a transport under a name, before any other call. Errors: `already_exists`; `invalid_argument` for
  /// an empty name, or more than `max_rails` transports.
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
  /// True if all transports can.
  bool can_guard() const noexcept override;
  /// Counts the registrars of all transports, in the order in which the transports were added.
  memory_registrar* registrar(std::size_t number) noexcept override;
  std::size_t open() const noexcept override;
  task<void> all_closed() override;

  named_rails* parts() noexcept override { return use_ == bulk_use::preferred ? this : nullptr; }
  /// The transports as the rails of an endpoint, in the order in which they were added, or in that of
  /// `arrange`.
  const rail_set& rails() const noexcept { return rails_; }
  /// Gives the rails the order in which peers number them: the transport of the messages comes first, and
  /// that of bulk data second, as the address names them. Each then knows where to listen. Errors: those of
  /// the names in `listen`; `invalid_argument` if the order would change though it must not.
  status arrange(const std::string& address, bool may_change);

 private:
  struct entry {
    std::string name;
    rail* transport;
    std::unique_ptr<rail> part;  // the transport, by its name
    bool listening = false;
  };
  struct places {
    entry* message;
    entry* bulk;  // null: it has no place of its own
  };
  entry* find(std::string_view name) noexcept;
  const entry* find(std::string_view name) const noexcept;
  result<entry*> transport_of(std::string_view address) noexcept;
  result<places> places_of(const std::string& address) noexcept;
  status listen_in(entry& in, std::string_view address, accept_events& events) noexcept;

  bulk_use use_;
  rail_set rails_;
  std::vector<entry> entries_;
  entry* message_ = nullptr;
  entry* bulk_ = nullptr;
};

}  // namespace scoll::transport
