#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::testing {

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

  /// A wire that costs its latency and nothing else.
  static constexpr sim_link_model ideal(nanoseconds latency) noexcept {
    const nanoseconds none(0);
    return {.latency = latency, .overhead = none, .gap = none, .ps_per_byte = 0, .jitter = none};
  }
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
  static constexpr std::size_t usual_chunk_bytes = 16384;

  /// One address for every host of `world`. Pieces of at most `chunk_bytes`, 16 to 65536, exercise split
  /// frames.
  sim_network(sim_world& world, std::size_t chunk_bytes) : sim_network(world, chunk_bytes, world.hosts()) {}
  /// A network of `hosts` addresses, whose rails say which of them they are. In a `virtual_executor`'s world
  /// all share its time.
  sim_network(sim_world& world, std::size_t chunk_bytes, std::uint32_t hosts);
  ~sim_network();
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  static std::string address_of(std::uint32_t host) {
    return std::string(address_prefix) + std::to_string(host);
  }
  std::uint32_t hosts() const noexcept { return static_cast<std::uint32_t>(listeners_.size()); }

  /// The way from one host to another, to be changed: from the first call on it is a path of its own.
  sim_path& path(std::uint32_t from, std::uint32_t to);
  /// What all paths are that are not of their own.
  sim_path& common_path() noexcept { return common_; }
  /// Breaks all links between two hosts; both ends learn of it after the latency.
  void cut(std::uint32_t a, std::uint32_t b);
  /// Breaks them at `a` alone; `b` believes they are up until it writes.
  void half_open(std::uint32_t a, std::uint32_t b);
  /// Connections from one host to another are refused, until `admit`.
  void refuse(std::uint32_t from, std::uint32_t to) { path(from, to).refused_until = nanoseconds::max(); }
  void admit(std::uint32_t from, std::uint32_t to) { path(from, to).refused_until = nanoseconds(0); }
  /// Nothing that was sent reaches `host` any more, until `thaw`, after which it arrives. The host itself
  /// runs on.
  void freeze(std::uint32_t host) { frozen_[host] = true; }
  void thaw(std::uint32_t host);
  /// Heals all paths now. What is half-open or frozen stays so.
  void heal() noexcept;

  /// Called with every piece that reaches `to`; may change its bytes. If it returns false, the connection
  /// breaks and the piece is lost.
  using tamper_function = std::function<bool(std::uint32_t from, std::uint32_t to, std::span<std::byte>)>;
  void set_tamper(tamper_function tamper) { tamper_ = std::move(tamper); }

  std::uint64_t bytes_carried() const noexcept { return bytes_carried_; }

 private:
  friend class sim_rail;
  friend class sim_link;
  friend class sim_datagrams;
  static constexpr std::string_view address_prefix = "host:";

  const sim_path& way(std::uint32_t from, std::uint32_t to) const noexcept;
  std::uint32_t host_of(const std::string& address) const;
  sim_link* any_link_of(const sim_rail& rail) noexcept;
  bool is_frozen(std::uint32_t host) const noexcept { return frozen_[host]; }
  /// Hosts beyond those of the world share an executor with others, and live as long as it does.
  bool is_up(std::uint32_t host) const noexcept {
    return host >= world_.hosts() || world_.host(host) != nullptr;
  }

  sim_world& world_;
  std::size_t chunk_bytes_;
  transport::buffer_pool chunks_;
  transport::buffer_pool frames_;
  sim_path common_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, sim_path> paths_;  // those that differ, by (from, to)
  std::vector<sim_rail*> listeners_;                                   // by host
  std::vector<bool> mute_;                                             // hosts that crashed without a word
  std::vector<bool> frozen_;                                           // hosts that nothing reaches
  std::vector<nanoseconds> sending_until_;  // by host: when its next send may begin
  intrusive_list<sim_link> links_;
  tamper_function tamper_;
  std::uint64_t bytes_carried_ = 0;
};

/// One life's access to a `sim_network`. Its executor must outlive it.
class sim_rail final : public transport::rail {
 public:
  /// The host of `home`.
  sim_rail(sim_network& network, sim_executor& home);
  /// One of several hosts whose lives share an executor.
  sim_rail(sim_network& network, sim_executor& home, std::uint32_t host);
  ~sim_rail() override;

  status listen(const std::string& address, transport::accept_events& events) noexcept override;
  std::string listen_address() const override { return sim_network::address_of(host_); }
  void stop_listening() noexcept override;
  void connect(const std::string& address, transport::connect_events& waiter) noexcept override;
  void cancel_connect(transport::connect_events& waiter) noexcept override;
  std::size_t open() const noexcept override { return open_.inside(); }
  task<void> all_closed() override { co_await open_.emptied(); }

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
  std::uint32_t host_;
  transport::accept_events* acceptor_ = nullptr;
  bool crashed_ = false;
  intrusive_list<connector> connecting_;
  gate open_;
};

}  // namespace scoll::testing
