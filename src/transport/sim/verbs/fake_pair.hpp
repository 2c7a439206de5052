#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/member_timer.hpp"
#include "transport/sim/small_queue.hpp"
#include "transport/sim/verbs/fake_fabric.hpp"
#include "transport/sim/verbs/fake_reads.hpp"
#include "transport/sim/verbs/fake_windows.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::testing {

class fake_context;
struct fake_completion_queue;
struct fake_receive_queue;

/// One queue pair of reliable connections.
class fake_pair final : public transport::verbs::queue_pair_object {
 public:
  fake_pair(fake_context& device, const transport::verbs::queue_pair_request& what);
  ~fake_pair();
  fake_pair(const fake_pair&) = delete;
  fake_pair& operator=(const fake_pair&) = delete;

  status connect(const transport::verbs::path_request& path);
  std::size_t post(std::span<const transport::verbs::send_request> sends) noexcept;
  std::size_t post(std::span<const transport::verbs::read_request> reads) noexcept;
  std::size_t post(std::span<const transport::verbs::window_request> windows) noexcept;
  const fake_windows& windows() const noexcept { return windows_; }
  /// The device has failed.
  void fail_all() noexcept { fail(transport::verbs::completion::result::failed); }
  fake_context& device() const noexcept { return device_; }
  std::size_t under_way() const noexcept { return sends_.size(); }
  std::uint32_t host() const noexcept;

  // For READs, which only queue pairs without receives have:
  std::uint32_t peer_host() const noexcept { return peer_host_; }
  /// The queue pair that it is connected to; null if that has ended or failed.
  fake_pair* peer() const noexcept;
  /// The same; null, too, if nothing gets through to it.
  fake_pair* connected_peer() const noexcept;
  /// The memory that the peer READs by a key and an address; null if it may not.
  const std::byte* find(std::uint32_t key, std::uint64_t address, std::size_t size) const noexcept;
  /// The peer has tried to READ what it may not. Only an event says so.
  void refuse_reads() noexcept;
  void read_complete() noexcept { windows_.on_read_complete(); }
  unsigned retries() const noexcept { return path_.retry_count; }
  nanoseconds retry_period() const noexcept;
  void complete(std::uint64_t tag, transport::verbs::completion::result outcome) noexcept;
  void fail(transport::verbs::completion::result outcome) noexcept;
  fake_fabric& fabric() const noexcept;

 private:
  static constexpr std::uint32_t most_inline = 512;
  enum class state : std::uint8_t { init, ready, error };
  struct posted {
    transport::verbs::send_request request;
    std::array<std::byte, most_inline> inlined;
    nanoseconds arrives{0};
    nanoseconds acknowledged{0};
    unsigned attempts = 0;
  };
  using result_of = transport::verbs::completion::result;

  bool accept(const transport::verbs::send_request& r) noexcept;
  void wake() noexcept;
  void work() noexcept;
  bool deliver(posted& next) noexcept;
  bool answers(const fake_pair* peer) const noexcept;
  bool try_again(posted& what, nanoseconds period, unsigned most, result_of otherwise) noexcept;
  const std::byte* bytes_of(const posted& what) const noexcept;

  fake_context& device_;
  fake_completion_queue& completions_;
  fake_receive_queue* receives_;
  std::size_t most_sends_;
  bool serves_reads_;
  state state_ = state::init;
  transport::verbs::path_request path_{};
  std::uint32_t peer_host_ = 0;
  small_queue<posted> sends_;
  std::size_t delivered_ = 0;  // at the front of `sends_`
  nanoseconds last_arrival_{0};
  fake_reads reads_{*this};
  fake_windows windows_;
  member_timer<&fake_pair::work> timer_{*this};  // in the world's time
};

}  // namespace scoll::testing
