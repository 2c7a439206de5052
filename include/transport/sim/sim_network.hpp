#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::transport {

class sim_rail;
class sim_link;

/// What a wire costs, after LogGP.
struct sim_link_model {
  nanoseconds latency{std::chrono::microseconds(10)};
  nanoseconds overhead{std::chrono::microseconds(1)};  ///< processor time of a send, and of a receive
  nanoseconds gap{std::chrono::nanoseconds(200)};      ///< between two sends of a host
  std::uint64_t ps_per_byte = 80;
  nanoseconds jitter{std::chrono::microseconds(2)};  ///< at most this much is added to the latency
  bool sender_busy = false;  ///< a send keeps its host from all else for `overhead`, as a receive does
};

/// What is wrong with the way from one host to another at present. Times are the world's.
struct sim_path {
  sim_link_model model;
  nanoseconds blocked_until{0};  ///< nothing gets through; it arrives afterwards, datagrams never do
  nanoseconds slow_until{0};     ///< `extra` is added to the latency
  nanoseconds extra{0};
  nanoseconds narrow_until{0};  ///< bytes take `narrowing` times as long
  std::uint64_t narrowing = 1;
  nanoseconds refused_until{0};    ///< connections are refused
  std::uint32_t corrupt_next = 0;  ///< so many of the next pieces arrive altered
  std::uint32_t cut_after = 0;     ///< the connection breaks when so many more frames have arrived; 0: never

  // Of a million datagrams, so many
  std::uint32_t loss_ppm = 0;       ///< are lost
  std::uint32_t duplicate_ppm = 0;  ///< arrive twice
  std::uint32_t reorder_ppm = 0;    ///< are held back for one to eight latencies, so that others overtake
  std::uint32_t corrupt_ppm = 0;    ///< arrive with one byte altered
  std::uint32_t spike_ppm = 0;      ///< are late by `spike`
  nanoseconds spike{std::chrono::milliseconds(10)};
};

/// How a life ended, for its peers.
enum class sim_crash : std::uint8_t {
  loud,    ///< the operating system lives on: connections are reset, new ones refused
  silent,  ///< nothing is heard any more: links stay half-open until something is written
};

/// The wires between the hosts of a world: byte streams with real frames, cut at sizes of its own choosing,
/// that take the time of `sim_link_model` and do whatever harm they are told to. Addresses are
/// what `address_of` says.
class sim_network {
 public:
  /// Pieces of at most `chunk_bytes`, 16 to 65536, exercise split frames.
  sim_network(sim_world& world, std::size_t chunk_bytes);
  ~sim_network();
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  static std::string address_of(std::uint32_t host) {
    return std::string(address_prefix) + std::to_string(host);
  }

  /// The way from one host to another, to be changed: from the first call on it is a path of its own.
  sim_path& path(std::uint32_t from, std::uint32_t to);
  /// What all paths are that are not of their own.
  sim_path& common_path() noexcept { return common_; }
  /// Breaks all links between two hosts; both ends learn of it after the latency.
  void cut(std::uint32_t a, std::uint32_t b);
  /// Breaks them at `a` alone; `b` believes they are up until it writes.
  void half_open(std::uint32_t a, std::uint32_t b);
  /// Heals all paths now. What is half-open stays so.
  void heal() noexcept;

  std::uint64_t bytes_carried() const noexcept { return bytes_carried_; }

 private:
  friend class sim_rail;
  friend class sim_link;
  friend class sim_datagrams;
  static constexpr std::string_view address_prefix = "host:";

  const sim_path& way(std::uint32_t from, std::uint32_t to) const noexcept;
  std::uint32_t host_of(const std::string& address) const;
  sim_link* any_link_of(const sim_rail& rail) noexcept;

  sim_world& world_;
  std::size_t chunk_bytes_;
  buffer_pool chunks_;
  buffer_pool frames_;
  sim_path common_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim_path> paths_;  // those that differ, by (from, to)
  std::vector<sim_rail*> listeners_;                                   // by host
  std::vector<bool> mute_;                                             // hosts that crashed without a word
  std::vector<nanoseconds> sending_until_;  // by host: when its next send may begin
  intrusive_list<sim_link> links_;
  std::uint64_t bytes_carried_ = 0;
};

/// One life's access to a `sim_network`. Its executor must outlive it.
class sim_rail final : public rail {
 public:
  sim_rail(sim_network& network, sim_executor& home);
  ~sim_rail() override;

  status listen(const std::string& address, accept_events& events) noexcept override;
  std::string listen_address() const override { return sim_network::address_of(home_.host()); }
  void stop_listening() noexcept override;
  void connect(const std::string& address, connect_events& waiter) noexcept override;
  void cancel_connect(connect_events& waiter) noexcept override;
  std::size_t open() const noexcept override { return open_; }

  /// The life has crashed: peers notice as `how` says, nothing is sent or received any more, and every
  /// connect fails. Call it before the executor is detached.
  void crash(sim_crash how);
  /// Of a crashed life, for driving it to its end: its links break now.
  void break_all();

 private:
  friend class sim_network;
  friend class sim_link;
  class connector;

  sim_network& network_;
  sim_executor& home_;
  accept_events* acceptor_ = nullptr;
  bool crashed_ = false;
  intrusive_list<connector> connecting_;
  std::size_t open_ = 0;
};

}  // namespace scoll::transport
