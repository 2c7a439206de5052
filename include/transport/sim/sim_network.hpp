#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/link.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::testing {

class sim_rail;
class sim_link;
class sim_registrar;
class sim_remote;
class fake_fabric;

/// The cost of a wire, after the LogGP model.
struct sim_link_model {
  nanoseconds latency{std::chrono::microseconds(10)};
  /// The processor time of a send, and of a receive.
  nanoseconds overhead{std::chrono::microseconds(1)};
  /// The time between two sends of a host.
  nanoseconds gap{std::chrono::nanoseconds(200)};
  std::uint64_t ps_per_byte = 80;
  /// The most that is added at random to the latency.
  nanoseconds jitter{std::chrono::microseconds(2)};
  /// A send keeps its host busy for `overhead`, as a receive always does.
  bool sender_busy = false;
  /// A host takes in one stream's bytes at a time, a chunk of the network by turns, each at `ps_per_byte`.
  /// Without it, any number of streams arrive at a host as fast as one does.
  bool ingress = false;

  /// A wire that costs its latency and nothing else.
  static constexpr sim_link_model ideal(nanoseconds latency) noexcept {
    const nanoseconds none(0);
    return {.latency = latency, .overhead = none, .gap = none, .ps_per_byte = 0, .jitter = none};
  }
};

/// The cost and the present faults of the path from one host to another. Times are the world's.
struct sim_path {
  sim_link_model model;
  /// Until then nothing gets through. Streams arrive afterwards; datagrams are lost.
  nanoseconds blocked_until{0};
  /// Until then `extra` is added to the latency.
  nanoseconds slow_until{0};
  nanoseconds extra{0};
  /// Until then bytes take `narrowing` times as long.
  nanoseconds narrow_until{0};
  std::uint64_t narrowing = 1;
  /// Until then connections are refused.
  nanoseconds refused_until{0};
  /// The next this many pieces arrive altered.
  std::uint32_t corrupt_next = 0;
  /// Somebody on the way who knows the format, and no key, alters the next this many writes of guarded
  /// connections that are in the clear: one byte of a hello or of a step, with the right checksums.
  std::uint32_t forge_next = 0;
  /// The connection breaks after this many more frames have arrived; 0: never.
  std::uint32_t cut_after = 0;
  /// The next this many connections are repeated: what the connecting side writes first, its hello, arrives a
  /// second time, `repeat_after` later, on a connection of its own. Nobody is at the other end of that one,
  /// so answers to it are lost and then reset it.
  std::uint32_t repeat_connects = 0;
  nanoseconds repeat_after{std::chrono::milliseconds(1)};

  // Faults of datagrams, as a number in a million:
  /// Datagrams that are lost.
  std::uint32_t loss_ppm = 0;
  /// Datagrams that arrive twice.
  std::uint32_t duplicate_ppm = 0;
  /// Datagrams that are held back for one to eight latencies, so that others overtake them.
  std::uint32_t reorder_ppm = 0;
  /// Datagrams that arrive with one byte altered.
  std::uint32_t corrupt_ppm = 0;
  /// Datagrams that are late by `spike`.
  std::uint32_t spike_ppm = 0;
  nanoseconds spike{std::chrono::milliseconds(10)};
};

/// How a life ended, as its peers see it.
enum class sim_crash : std::uint8_t {
  loud,    ///< the operating system survives: connections are reset, and new ones refused
  silent,  ///< the host falls silent: links stay half-open until something is written
};

/// Hardware that reads the memory of peers (`transport::remote_access`): each rail has so many slabs of such
/// a size for each direction. Bytes move piece by piece, without the processor of their owner; completions
/// and the ends of links come late.
struct sim_remote_memory {
  std::size_t slabs = 32;
  std::size_t slab_bytes = 524288;
};

/// The wires between the hosts of a world: byte streams with real frames, cut into pieces of the network's
/// own choosing. They take the time of `sim_link_model` and fail as they are told to. Addresses are those of
/// `address_of`.
class sim_network {
 public:
  static constexpr std::size_t usual_chunk_bytes = 16384;

  /// Makes a network with one address for every host of `world`. Pieces of at most `chunk_bytes`, 16 to
  /// 65536, exercise split frames.
  sim_network(sim_world& world, std::size_t chunk_bytes) : sim_network(world, chunk_bytes, world.hosts()) {}
  /// Makes a network of `hosts` addresses; each rail says which of them is its own. If they are more than the
  /// hosts of the world, address `n` is one of its host `n % hosts()`. In a `virtual_executor`'s world all
  /// share its time.
  sim_network(sim_world& world, std::size_t chunk_bytes, std::uint32_t hosts);
  ~sim_network();
  sim_network(const sim_network&) = delete;
  sim_network& operator=(const sim_network&) = delete;

  static std::string address_of(std::uint32_t host) {
    return std::string(address_prefix) + std::to_string(host);
  }
  std::uint32_t hosts() const noexcept { return static_cast<std::uint32_t>(listeners_.size()); }
  const sim_world& world() const noexcept { return world_; }

  /// The path from one host to another, to be changed. From the first call on it no longer follows
  /// `common_path`.
  sim_path& path(std::uint32_t from, std::uint32_t to);
  /// The path between all hosts that have none of their own.
  sim_path& common_path() noexcept { return common_; }
  /// Breaks all links between two hosts. Both ends learn of it after the latency.
  void cut(std::uint32_t a, std::uint32_t b);
  /// Breaks all links between two hosts at `a` only. `b` believes that they are up until it writes.
  void half_open(std::uint32_t a, std::uint32_t b);
  /// All links between two hosts carry nothing any more, either way, and neither end is told. New ones work.
  void lose_all(std::uint32_t a, std::uint32_t b);
  /// Refuses connections from one host to another until `admit`.
  void refuse(std::uint32_t from, std::uint32_t to) { path(from, to).refused_until = nanoseconds::max(); }
  void admit(std::uint32_t from, std::uint32_t to) { path(from, to).refused_until = nanoseconds(0); }
  /// Nothing that was sent reaches `host` until `thaw`; then it arrives. The host itself keeps running.
  void freeze(std::uint32_t host) { frozen_[host] = true; }
  void thaw(std::uint32_t host);
  /// Heals all paths now. Half-open links and frozen hosts stay as they are.
  void heal() noexcept;

  /// A function called with every piece that reaches `to`. It may change the bytes. If it returns false, the
  /// connection breaks and the piece is lost.
  using tamper_function = std::function<bool(std::uint32_t from, std::uint32_t to, std::span<std::byte>)>;
  void set_tamper(tamper_function tamper) { tamper_ = std::move(tamper); }

  /// What the side that connects has written first on a guarded connection, a write after the other.
  struct recording {
    std::uint32_t pair = 0;
    std::uint32_t to = 0;
    std::vector<std::vector<std::byte>> writes;
  };
  /// From now on somebody records how guarded connections begin.
  void listen_in() noexcept { listens_in_ = true; }
  /// The latest recording of a connection to a host that has at least `writes` writes; null if there is none.
  const recording* overheard(std::uint32_t to, std::size_t writes) const noexcept;

  /// Gives all rails that are made from now on hardware that reads memory.
  void enable_remote_memory(const sim_remote_memory& how) { remote_memory_ = how; }
  bool has_remote_memory() const noexcept { return remote_memory_.has_value(); }
  /// The reads that hardware has refused because no right covered them.
  std::uint64_t access_errors() const noexcept { return access_errors_; }

  std::uint64_t bytes_carried() const noexcept { return bytes_carried_; }
  /// How often a queue of bytes on their way needed more memory, which no real network takes from a process.
  std::uint64_t queue_growths() const noexcept { return queue_growths_; }
  /// The connection attempts that began while the other host was connecting to this one. Both lanes of a peer
  /// count alike, because a network knows addresses only.
  std::uint64_t crossings() const noexcept { return crossings_; }
  /// The connections that arrived a second time (`sim_path::repeat_connects`).
  std::uint64_t repeated() const noexcept { return repeated_; }
  /// The hellos and steps that were altered (`sim_path::forge_next`).
  std::uint64_t forged() const noexcept { return forged_; }
  /// The frames behind the identity that arrived on a guarded connection whose ends do not have one channel.
  std::uint64_t unbound_frames() const noexcept { return unbound_frames_; }

 private:
  friend class sim_rail;
  friend class sim_link;
  friend class sim_remote;
  friend class sim_datagrams;
  friend class fake_fabric;
  static constexpr std::string_view address_prefix = "host:";
  class repetition;

  const sim_path& way(std::uint32_t from, std::uint32_t to) const noexcept;
  std::uint32_t host_of(const std::string& address) const;
  sim_link* any_link_of(const sim_rail& rail) noexcept;
  bool repeats_next_connection(std::uint32_t from, std::uint32_t to);
  void repeat_later(std::uint32_t from, std::uint32_t to, std::span<const transport::frame_parts> first);
  void drop_repetitions() noexcept;
  void overhear(std::uint32_t pair, std::uint32_t to, bool begins,
                std::span<const transport::frame_parts> frames);
  bool is_frozen(std::uint32_t host) const noexcept { return frozen_[host]; }
  /// Addresses beyond the hosts of the world are further ones of the same hosts, by turns.
  bool is_up(std::uint32_t address) const noexcept {
    return world_.host(address % world_.hosts()) != nullptr;
  }

  sim_world& world_;
  std::size_t chunk_bytes_;
  transport::buffer_pool chunks_;
  transport::buffer_pool frames_;
  sim_path common_;
  // paths that differ from `common_`, by (from, to)
  std::vector<std::vector<std::unique_ptr<sim_path>>> paths_;  // by hosts; null, or no row: `common_`
  std::vector<sim_rail*> listeners_;                           // by host
  std::vector<bool> mute_;                                     // hosts that crashed silently
  std::vector<bool> frozen_;                                   // hosts that nothing reaches
  std::vector<nanoseconds> sending_until_;                     // by host: when its next send may begin
  std::vector<nanoseconds> taking_until_;  // by host: when it has taken in what has arrived, with `ingress`
  intrusive_list<sim_link> links_;
  intrusive_list<repetition> repetitions_;
  tamper_function tamper_;
  std::uint64_t bytes_carried_ = 0;
  std::uint64_t queue_growths_ = 0;
  std::uint64_t crossings_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t forged_ = 0;
  bool listens_in_ = false;
  std::deque<recording> recordings_;  // the latest come last
  std::uint64_t unbound_frames_ = 0;
  std::vector<std::byte> plain_, rewritten_;  // of a batch that a guard seals, or somebody alters
  std::optional<sim_remote_memory> remote_memory_;
  std::uint32_t last_pair_ = 0;  // of links
  std::uint32_t last_key_ = 0;   // of rights
  std::uint64_t access_errors_ = 0;
};

/// One life's rail on a `sim_network`. Its executor must outlive it.
class sim_rail final : public transport::rail {
 public:
  /// Makes the rail of the host of `home`.
  sim_rail(sim_network& network, sim_executor& home);
  /// Makes the rail of one of several hosts whose lives share an executor.
  sim_rail(sim_network& network, sim_executor& home, std::uint32_t host);
  ~sim_rail() override;

  status listen(const std::string& address, transport::accept_events& events) noexcept override;
  std::string listen_address() const override { return sim_network::address_of(host_); }
  void stop_listening() noexcept override;
  /// Refuses what is not of the form of `sim_network::address_of`. The host need not exist.
  status check_address(std::string_view address) const override;
  void connect(const std::string& address, transport::connect_events& waiter) noexcept override;
  void cancel_connect(transport::connect_events& waiter) noexcept override;
  /// Hardware that reads memory goes past a guard.
  bool can_guard() const noexcept override { return registrar_ == nullptr; }
  transport::memory_registrar* registrar(std::size_t number) noexcept override;
  std::size_t open() const noexcept override { return open_.inside(); }
  task<void> all_closed() override { co_await open_.emptied(); }

  /// The life has crashed: peers notice it as `how` says, the rail sends and receives nothing any more, and
  /// every connect fails. Call this before the executor is detached.
  void crash(sim_crash how);
  /// Tells the owner that the interface is down, or back. It need not be true. The caller is inside the host.
  void hint(bool usable) noexcept {
    if (acceptor_ != nullptr) acceptor_->on_interface_hint(usable);
  }
  /// Breaks all links of a crashed life now, so that it can be driven to its end.
  void break_all();

 private:
  friend class sim_network;
  friend class sim_link;
  friend class sim_remote;
  class connector;

  bool crosses(const connector& begun) const noexcept;

  sim_network& network_;
  sim_executor& home_;
  std::uint32_t host_;
  transport::accept_events* acceptor_ = nullptr;
  bool crashed_ = false;
  intrusive_list<connector> connecting_;
  gate open_;
  std::unique_ptr<sim_registrar> registrar_;
};

}  // namespace scoll::testing
