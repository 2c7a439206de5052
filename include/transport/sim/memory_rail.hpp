#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

class memory_rail;
class memory_link;

/// Addresses and the wires between them, inside one process and on one executor: the whole stack runs on it
/// in virtual time. Links carry real frames as byte streams, through the same assembler as TCP.
/// It breaks, blocks, freezes and damages what a test asks it to.
class memory_network {
 public:
  explicit memory_network(executor& ex, nanoseconds latency = std::chrono::microseconds(10));
  ~memory_network();
  memory_network(const memory_network&) = delete;
  memory_network& operator=(const memory_network&) = delete;

  void set_latency(nanoseconds latency) noexcept { latency_ = latency; }

  /// Breaks all links between two addresses, now; both ends learn of it after the latency.
  void cut(const std::string& a, const std::string& b);
  /// New connections from `from` to `to` fail, until `unblock`.
  void block(const std::string& from, const std::string& to) { blocked_.insert({from, to}); }
  void unblock(const std::string& from, const std::string& to) { blocked_.erase({from, to}); }
  /// Nothing reaches the node at `address` any more, as if it were stopped, until `thaw`: what was sent
  /// meanwhile then arrives. Its timers run on: freeze is for the wire only.
  void freeze(const std::string& address) { frozen_.insert(address); }
  void thaw(const std::string& address);

  /// Called with every chunk on its way from one address to another; may change bytes. Returning false drops
  /// the link instead of delivering.
  using tamper_function =
      std::function<bool(const std::string& from, const std::string& to, std::span<std::byte>)>;
  void set_tamper(tamper_function tamper) { tamper_ = std::move(tamper); }

  /// Bytes are delivered in pieces of at most this size, 1 to 65536, to exercise split frames.
  void set_chunk_bytes(std::size_t bytes) noexcept;

  std::uint64_t bytes_carried() const noexcept { return bytes_carried_; }

 private:
  friend class memory_rail;
  friend class memory_link;

  executor& executor_;
  nanoseconds latency_;
  std::size_t chunk_bytes_ = 16384;
  buffer_pool chunks_;
  buffer_pool frames_;
  std::map<std::string, memory_rail*> listeners_;
  std::set<std::pair<std::string, std::string>> blocked_;
  std::set<std::string> frozen_;
  tamper_function tamper_;
  intrusive_list<memory_link> links_;
  std::uint64_t bytes_carried_ = 0;
};

/// One node's access to a `memory_network`. `address` names the node in `cut`, `block` and `freeze`, and is
/// what it listens on.
class memory_rail final : public rail {
 public:
  memory_rail(memory_network& network, std::string address);
  ~memory_rail() override;

  status listen(const std::string& address, accept_events& events) noexcept override;
  std::string listen_address() const override { return address_; }
  void stop_listening() noexcept override;
  void connect(const std::string& address, connect_events& waiter) noexcept override;
  void cancel_connect(connect_events& waiter) noexcept override;
  std::size_t open() const noexcept override { return open_; }

 private:
  friend class memory_network;
  friend class memory_link;
  class connector;

  memory_network& network_;
  std::string address_;
  accept_events* acceptor_ = nullptr;
  intrusive_list<connector> connecting_;
  std::size_t open_ = 0;
};

}  // namespace scoll::transport
