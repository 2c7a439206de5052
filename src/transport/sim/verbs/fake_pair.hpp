#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "scoll/coro/member_timer.hpp"
#include "transport/sim/verbs/fake_fabric.hpp"
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
  /// The device has failed.
  void fail_all() noexcept { fail(transport::verbs::completion::result::failed); }
  fake_context& device() const noexcept { return device_; }
  std::size_t under_way() const noexcept { return sends_.size(); }

 private:
  enum class state : std::uint8_t { init, ready, error };
  struct posted {
    transport::verbs::send_request request;
    std::vector<std::byte> inlined;
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
  void complete(const posted& what, result_of outcome) noexcept;
  void fail(result_of outcome) noexcept;
  fake_fabric& fabric() const noexcept;

  fake_context& device_;
  fake_completion_queue& completions_;
  fake_receive_queue& receives_;
  std::size_t most_sends_;
  state state_ = state::init;
  transport::verbs::path_request path_{};
  std::uint32_t peer_host_ = 0;
  std::deque<posted> sends_;
  std::size_t delivered_ = 0;  // at the front of `sends_`
  nanoseconds last_arrival_{0};
  member_timer<&fake_pair::work> timer_{*this};  // in the world's time
};

}  // namespace scoll::testing
