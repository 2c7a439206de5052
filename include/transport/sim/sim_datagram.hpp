#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/timer.hpp"
#include "transport/io/buffer.hpp"
#include "transport/io/datagram.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::testing {

class sim_datagram_port;

/// Why a simulated datagram did not arrive; the numbers are part of every trace hash.
enum class sim_loss : std::uint8_t {
  chance = 1,     ///< lost at random: `sim_path::loss_ppm`
  partition = 2,  ///< the path was blocked, or a cable was out, when it left or when it should have arrived
  nobody = 3,     ///< no such address, or no open port there
  no_room = 4,    ///< the queue of the receiver or of the network was full
};

/// Datagrams on the paths of a `sim_network`, beside its streams. They follow the same model of time, with
/// loss, repetition, disorder, damage and delay as `sim_path` says. A host sends streams and datagrams one
/// after the other. Everything random comes from the world's seed. This object must outlive its ports.
///
/// A network may have more addresses than the world has hosts. Then each host has several: address `n` is
/// that of host `n % hosts()` of the world, on its rail `n / hosts()`.
class sim_datagrams {
 public:
  explicit sim_datagrams(sim_network& network);
  ~sim_datagrams();
  sim_datagrams(const sim_datagrams&) = delete;
  sim_datagrams& operator=(const sim_datagrams&) = delete;

  /// Pulls the cable of an address: until then it neither sends nor receives.
  void pull(std::uint32_t address, nanoseconds until) { pulled_until_[address] = until; }

 private:
  friend class sim_datagram_port;

  /// One datagram: under way, in a port's queue, or idle and kept for its memory.
  class packet final : public timer_node, public list_hook<> {
   public:
    explicit packet(sim_datagrams& network) noexcept;
    ~packet() = default;

    std::vector<std::byte> bytes;
    std::uint32_t from = 0;
    std::uint32_t to = 0;

   private:
    sim_datagrams& network_;
  };

  nanoseconds send(std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes);
  void launch(const sim_path& way, std::uint32_t from, std::uint32_t to, std::span<const std::byte> bytes,
              nanoseconds departed);
  nanoseconds delay(const sim_path& way) noexcept;
  void alter(const sim_path& way, packet& p) noexcept;
  void arrive(packet& p) noexcept;
  void lose(std::uint32_t from, std::uint32_t to, std::size_t size, sim_loss why) noexcept;
  bool happens(std::uint32_t ppm) noexcept;
  bool blocked(std::uint32_t from, std::uint32_t to) const noexcept;
  packet* take();
  void give_back(packet& p) noexcept { idle_.push_front(p); }
  sim_world& world() const noexcept { return network_.world_; }
  const sim_path& path(std::uint32_t from, std::uint32_t to) const noexcept { return network_.way(from, to); }

  sim_network& network_;
  std::vector<sim_datagram_port*> ports_;  // by address
  std::vector<nanoseconds> pulled_until_;  // by address
  std::deque<packet> packets_;
  intrusive_list<packet> idle_;
};

struct sim_datagram_options {
  /// The largest payload of one datagram, in bytes.
  std::size_t max_bytes = transport::datagram_bytes_limit;
  /// Receive buffers of `max_bytes` each, which the owner can hold.
  std::uint32_t receive_buffers = 4;
  /// The most datagrams that wait for the host's wire.
  std::uint32_t send_buffers = 16;
  /// The most bytes that wait for a busy or stalled host; each datagram costs 256 bytes more.
  std::size_t socket_bytes = 212992;
};

/// The datagram port of one life of a simulated host at one of its addresses. Addresses are those of
/// `sim_network::address_of`. A stalled host receives later; datagrams that find its queue full are dropped.
/// Addresses without a port are silent. The executor must outlive the port.
class sim_datagram_port final : public transport::datagram_port, private timer_node {
 public:
  /// Makes the port of the first address of the host of `home`.
  sim_datagram_port(sim_datagrams& network, sim_executor& home, sim_datagram_options options = {}) noexcept;
  /// Makes the port of another address of that host.
  sim_datagram_port(sim_datagrams& network, sim_executor& home, std::uint32_t address,
                    sim_datagram_options options = {}) noexcept;
  ~sim_datagram_port() override;

  status bind(const std::string& address, transport::datagram_events& events) noexcept override;
  std::string bound_address() const override;
  result<transport::datagram_address> parse(std::string_view text) const override;
  std::string print(const transport::datagram_address& address) const override;
  std::size_t max_datagram_bytes() const noexcept override { return options_.max_bytes; }
  status send(const transport::datagram_address& to, std::span<const std::byte> bytes) noexcept override;
  void close() noexcept override;
  bool open() const noexcept override { return events_ != nullptr; }
  transport::datagram_statistics statistics() const noexcept override { return statistics_; }

  /// The life has crashed: the port sends and receives nothing any more, and its owner does not notice. Call
  /// this before the executor is detached.
  void crash() noexcept;

 private:
  friend class sim_datagrams;

  void leave() noexcept;
  void enqueue(sim_datagrams::packet& p) noexcept;
  void drain() noexcept;
  void deliver(sim_datagrams::packet& p, const transport::buffer_ref& buffer) noexcept;

  sim_datagrams& network_;
  sim_executor& home_;
  std::uint32_t address_;
  sim_datagram_options options_;
  std::optional<transport::buffer_pool> buffers_;
  transport::datagram_events* events_ = nullptr;
  bool crashed_ = false;
  intrusive_list<sim_datagrams::packet> queue_;
  std::size_t queued_bytes_ = 0;
  std::vector<nanoseconds> departures_;  // a ring of the times at which the latest datagrams will have left
  std::size_t next_departure_ = 0;
  transport::datagram_statistics statistics_;
};

}  // namespace scoll::testing
