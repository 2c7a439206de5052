#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scoll/coro/executor.hpp"
#include "transport/session/link.hpp"
#include "transport/verbs/verbs_options.hpp"

namespace scoll::transport {

class verbs_api;

/// How often something has happened on a verbs rail.
struct verbs_statistics {
  std::uint64_t links = 0;                ///< that were set up
  std::uint64_t links_without_reads = 0;  ///< among them: a side has not the means, or not the memory
  std::uint64_t handshakes_failed = 0;
};

/// Links over RDMA: reliable queue pairs for messages, each beside a silent connection of a rail below, over
/// which its two ends find each other and by which the death of the other end is known at once
/// (docs/verbs.md).
///
/// Addresses are those of the rail below; a peer must have a verbs rail at the address. The device is opened
/// when the rail first connects or is connected to. If there is none, or it has failed, connecting fails with
/// an error that says what to do, and the next attempt tries again.
class verbs_rail final : public rail {
 public:
  /// `devices` and `under` must outlive the rail; `under` serves it alone.
  verbs_rail(executor& home, verbs_api& devices, rail& under, verbs_options options = {});
  ~verbs_rail() override;

  status listen(const std::string& address, accept_events& events) noexcept override;
  std::string listen_address() const override;
  void stop_listening() noexcept override;
  status check_address(std::string_view address) const override;
  void connect(const std::string& address, connect_events& waiter) noexcept override;
  void cancel_connect(connect_events& waiter) noexcept override;
  memory_registrar* registrar(std::size_t number) noexcept override;
  /// Counts the connections of the rail below, too.
  std::size_t open() const noexcept override;
  task<void> all_closed() override;

  verbs_statistics statistics() const noexcept;

 private:
  class core;
  std::unique_ptr<core> core_;
};

}  // namespace scoll::transport
