#pragma once

#include <cstdint>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/verbs/introduction.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

class device;
class queue_pair;

/// The tag of the list of all queue pairs of a device.
struct all_pairs {};

/// One queue pair of a device from its making to its end. The calls that may block are jobs of the control
/// queue:
///
/// ```text
///   making ──► made ──connect()──► connecting ──► connected ──┐
///     └──────────┴────────────────────┴──────────────┴─ release() ──► destroying ──► gone
/// ```
class device_pair : private control_job, public list_hook<all_pairs> {
 public:
  device_pair(const device_pair&) = delete;
  device_pair& operator=(const device_pair&) = delete;
  virtual ~device_pair() = default;

  /// Begins to connect to the peer's queue pair.
  void connect(const path_request& path) noexcept;
  /// Breaks it, as a failure would.
  virtual void fail(const error& reason) noexcept = 0;

  std::uint32_t number() const noexcept { return number_; }
  std::uint32_t first_packet() const noexcept { return first_packet_; }
  bool is_made() const noexcept { return object_ != nullptr; }
  bool is_connected() const noexcept { return connected_; }

  // For the device:
  /// A request that was posted has completed.
  virtual void on_posted_done(const completion& done) noexcept = 0;
  /// The same object; null if it is not for messages.
  virtual queue_pair* for_messages() noexcept { return nullptr; }

 protected:
  /// `open` is kept until it is gone.
  device_pair(device& owner, gate_pass open, const queue_pair_request& wanted) noexcept;

  /// Begins to make it, on the control thread: the constructor of the final class calls this last.
  void make() noexcept { begin(work::make); }
  /// Begins to end it. It goes by itself.
  void begin_end() noexcept;
  /// Destroys the queue pair before it returns. `on_destroyed` follows in a later step.
  void destroy_now() noexcept;
  /// The tag of a request that is posted, above those of receives.
  static constexpr std::uint64_t tag_of(std::uint32_t index) noexcept {
    return (std::uint64_t{1} << 32U) | index;
  }
  static constexpr std::uint32_t index_in(const completion& done) noexcept {
    return static_cast<std::uint32_t>(done.tag);
  }
  /// Why a request has failed.
  static error failure_of(const completion& done) noexcept;

  device& device_;
  queue_pair_object* object_ = nullptr;

 private:
  enum class work : std::uint8_t { none, make, connect, destroy };

  // The ends of the jobs. The first two are not called after `begin_end`.
  virtual void on_pair_made(const status& outcome) noexcept = 0;
  virtual void on_pair_connected(const status& outcome) noexcept = 0;
  /// The device touches no memory for it any more, and all that it has completed was told. `device::leave` must
  /// follow.
  virtual void on_destroyed() noexcept = 0;

  void perform() noexcept override;
  void on_done() noexcept override;
  void begin(work what) noexcept;

  gate_pass open_;
  queue_pair_request wanted_;
  path_request path_{};
  status outcome_;  // of the job
  std::uint32_t number_ = 0;
  std::uint32_t first_packet_;
  work doing_ = work::none;
  bool connected_ = false;
  bool released_ = false;
};

}  // namespace scoll::transport::verbs
