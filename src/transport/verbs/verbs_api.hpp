#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/result.hpp"
#include "transport/verbs/control_queue.hpp"

/// The part of the verbs interface that this library uses, without the types of any implementation. Devices
/// are those of the system (`open_ibverbs`) or simulated (`fake_verbs`).
namespace scoll::transport::verbs {

/// The address of a port. For RoCE it is the IPv6 address, or the IPv4 address in its mapped form.
using gid = std::array<std::uint8_t, 16>;

struct device_limits {
  std::uint32_t queue_entries = 0;       ///< of a completion queue
  std::uint32_t shared_receives = 0;     ///< of a shared receive queue; 0: the device has none
  std::uint32_t queue_pair_entries = 0;  ///< sends of one queue pair
  std::uint8_t reads_out = 0;            ///< READs of one queue pair that the device has under way
  std::uint8_t reads_in = 0;             ///< READs of one queue pair that it serves at a time
  std::uint8_t ports = 1;                ///< which are numbered from 1 on
  std::uint32_t windows = 0;             ///< memory windows of type 2B; 0: the device has none
};

struct port_facts {
  bool active = false;
  bool ethernet = false;
  std::uint16_t lid = 0;
  std::uint32_t mtu = 0;  ///< in bytes
  std::uint32_t max_message_bytes = 0;
};

/// One entry of a port's table of addresses.
struct gid_entry {
  gid address{};
  bool usable = false;  ///< a RoCEv2 address, or one of InfiniBand
};

/// What memory is registered for. Local hardware may always write it.
enum class register_for : std::uint8_t {
  messages,
  remote_read,
  windows,  ///< peers READ it by memory windows alone
};

/// Objects of a device. Implementations derive theirs.
struct memory_object {
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_address = 0;  ///< where peers read the first byte
};
struct completion_queue {};
struct receive_queue {};
struct queue_pair_object {
  std::uint32_t number = 0;
  std::uint32_t inline_bytes = 0;  ///< granted
};
/// The way of datagrams to a port.
struct address_handle {};

/// How an operation ended. Of one that has failed only `outcome`, `tag`, `queue_pair` and `vendor_error` are
/// valid.
struct completion {
  enum class result : std::uint8_t {
    success,
    flushed,
    retries_exceeded,
    receiver_not_ready,
    access_denied,  ///< by the peer's device
    failed,
  };
  std::uint64_t tag = 0;
  std::uint32_t queue_pair = 0;
  result outcome = result::success;
  bool has_immediate = false;
  std::uint32_t immediate = 0;
  std::uint32_t bytes = 0;
  std::uint32_t vendor_error = 0;
  std::uint32_t source_pair = 0;   ///< of a datagram that was received
  bool has_global_header = false;  ///< of a datagram: its first 40 bytes say where it comes from
};

/// A SEND with immediate data. Its memory must stay until it has completed, unless it is sent inline.
struct send_request {
  std::uint64_t tag = 0;
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t local_key = 0;
  std::uint32_t immediate = 0;
  bool signalled = false;
  bool inlined = false;
};

/// A READ of memory of the peer. Its local memory is written until it has completed.
struct read_request {
  std::uint64_t tag = 0;
  std::byte* into = nullptr;
  std::uint32_t size = 0;
  std::uint32_t local_key = 0;
  std::uint64_t remote_address = 0;
  std::uint32_t remote_key = 0;
};

/// Binds a memory window of a queue pair to a part of memory that was registered for windows, or unbinds it. The
/// order is that of everything posted on the queue pair. A window is bound again only once it is unbound.
struct window_request {
  std::uint64_t tag = 0;
  std::uint32_t window = 0;               ///< its number
  const memory_object* memory = nullptr;  ///< null: unbind it
  std::span<std::byte> bytes;
};

struct receive_request {
  std::uint64_t tag = 0;
  std::byte* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t local_key = 0;
};

struct queue_pair_request {
  completion_queue* completions = nullptr;
  receive_queue* receives = nullptr;  ///< null: nothing is received
  std::uint32_t sends = 0;            ///< or READs
  std::uint32_t inline_bytes = 0;     ///< wanted
  bool serves_reads = false;          ///< the peer may READ what it has a key for
  std::uint32_t windows = 0;          ///< which go with the queue pair and are numbered from 0 on
};

/// A queue pair of datagrams. A datagram that arrives needs a place for 40 bytes more than it has, and one whose
/// queue key is another one is dropped by the device.
struct datagram_pair_request {
  completion_queue* completions = nullptr;
  receive_queue* receives = nullptr;
  std::uint32_t sends = 0;
  std::uint32_t inline_bytes = 0;  ///< wanted
  std::uint32_t queue_key = 0;
};

struct address_request {
  std::uint8_t port = 1;
  gid remote{};
  std::uint16_t remote_lid = 0;
  std::uint32_t gid_index = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
};

/// A datagram on its way out. Its memory and its address handle must stay until it has completed; its memory
/// need not if it is sent inline. A datagram of more bytes than the MTU completes with success and is lost.
struct datagram_request {
  std::uint64_t tag = 0;
  const std::byte* data = nullptr;
  std::uint32_t size = 0;
  std::uint32_t local_key = 0;
  address_handle* to = nullptr;
  std::uint32_t queue_pair = 0;  ///< of the receiver
  std::uint32_t queue_key = 0;
  bool inlined = false;
};

/// The path of a queue pair to its peer.
struct path_request {
  std::uint8_t port = 1;
  gid remote{};
  std::uint16_t remote_lid = 0;
  std::uint32_t remote_queue_pair = 0;
  std::uint32_t remote_packet = 0;  ///< its first packet's number
  std::uint32_t own_packet = 0;
  std::uint32_t gid_index = 0;
  std::uint32_t mtu = 0;
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t timeout = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry = 0;
  std::uint8_t reads_out = 1;  ///< READs that may be under way
  std::uint8_t reads_in = 1;   ///< READs of the peer that are served at a time
};

/// Something that a device tells without being asked.
struct device_event {
  enum class what : std::uint8_t { port_down, port_up, addresses_changed, queue_pair_failed, device_failed };
  what kind = what::port_up;
  std::uint8_t port = 0;
  std::uint32_t queue_pair = 0;
};

/// The completions of a queue that wake its waiter. A failure wakes it as well, or does not: devices differ.
enum class wake_for : std::uint8_t {
  nothing,
  arrivals,    ///< of something that was received
  everything,  ///< of what was posted, too
};

/// Is told once that a device has something to say.
class wakeup {
 public:
  virtual void on_wake() noexcept = 0;

 protected:
  ~wakeup() = default;
};

/// An open device with its protection domain. Functions that may take long are called on the control queue;
/// those of its second half are called on the executor, and take no time.
class device_context {
 public:
  virtual ~device_context() = default;

  virtual device_limits limits() = 0;
  virtual result<port_facts> port(std::uint8_t number) = 0;
  /// `not_found` beyond the last entry.
  virtual result<gid_entry> address(std::uint8_t port, std::uint32_t index) = 0;
  virtual result<memory_object*> register_memory(std::span<std::byte> memory, register_for use) = 0;
  virtual void deregister(memory_object* memory) noexcept = 0;
  /// A queue that `wake_on_completion` is about.
  virtual result<completion_queue*> make_completion_queue(std::uint32_t entries) = 0;
  virtual void destroy(completion_queue* queue) noexcept = 0;
  virtual result<receive_queue*> make_receive_queue(std::uint32_t entries) = 0;
  virtual void destroy(receive_queue* queue) noexcept = 0;
  /// Makes a queue pair of reliable connections, in the state INIT.
  virtual result<queue_pair_object*> make_queue_pair(const queue_pair_request& what, std::uint8_t port) = 0;
  /// Connects a queue pair: it is ready to receive, and to send.
  virtual status connect(queue_pair_object* pair, const path_request& path) = 0;
  /// Makes a queue pair of datagrams, which is ready to receive and to send.
  virtual result<queue_pair_object*> make_datagram_pair(const datagram_pair_request& what,
                                                        std::uint8_t port) = 0;
  /// When it returns, the device touches no memory for this queue pair any more.
  virtual void destroy(queue_pair_object* pair) noexcept = 0;
  virtual result<address_handle*> make_address_handle(const address_request& to) = 0;
  virtual void destroy(address_handle* handle) noexcept = 0;

  /// Posts receives in order. Returns how many were posted.
  virtual std::size_t post(receive_queue* queue, std::span<const receive_request> receives) noexcept = 0;
  /// Posts sends in order, at most `most_posted`. Returns how many were posted; the device knows nothing of the
  /// others.
  virtual std::size_t post(queue_pair_object* pair, std::span<const send_request> sends) noexcept = 0;
  /// Likewise for READs, each of which completes, in order.
  virtual std::size_t post(queue_pair_object* pair, std::span<const read_request> reads) noexcept = 0;
  /// Likewise for windows, each of which completes.
  virtual std::size_t post(queue_pair_object* pair, std::span<const window_request> windows) noexcept = 0;
  /// The key by which the peer of the queue pair READs what one of its windows was bound to last.
  virtual std::uint32_t window_key(const queue_pair_object* pair, std::uint32_t window) const noexcept = 0;
  /// Likewise for datagrams, each of which completes.
  virtual std::size_t post(queue_pair_object* pair, std::span<const datagram_request> sends) noexcept = 0;
  /// Takes completions from a queue. Returns their number, or -1 if the queue has failed.
  virtual int poll(completion_queue* queue, std::span<completion> into) noexcept = 0;
  /// The next completion of this kind wakes the waiter, once. Arming for more replaces an arming for less.
  virtual status arm(completion_queue* queue, wake_for what) noexcept = 0;
  /// Calls `waiter` once, in a later step, when an armed queue has had a completion.
  virtual void wake_on_completion(wakeup& waiter) noexcept = 0;
  /// Takes the next event. False if there is none.
  virtual bool take_event(device_event& into) noexcept = 0;
  /// Calls `waiter` once, in a later step, when there is an event.
  virtual void wake_on_event(wakeup& waiter) noexcept = 0;
  /// Nobody waits for completions and events any more. Calls `stopped` in a later step; then the others are not
  /// called any more.
  virtual void stop_waking(wakeup& stopped) noexcept = 0;
};

/// The most sends in one `post`.
inline constexpr std::size_t most_posted = 16;

}  // namespace scoll::transport::verbs

namespace scoll::transport {

/// The devices that one executor can use.
class verbs_api {
 public:
  virtual ~verbs_api() = default;
  /// The names of all devices. It may block.
  virtual std::vector<std::string> device_names() = 0;
  /// Opens a device. It may block.
  virtual result<std::unique_ptr<verbs::device_context>> open(const std::string& name) = 0;
  virtual verbs::control_queue& control() noexcept = 0;
  /// A seed for what is chosen at random.
  virtual std::uint64_t seed() = 0;
};

}  // namespace scoll::transport
