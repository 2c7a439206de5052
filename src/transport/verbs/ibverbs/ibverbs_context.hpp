#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scoll/coro/member_node.hpp"
#include "transport/io/reactor.hpp"
#include "transport/verbs/ibverbs/fd_watch.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// A device of this machine, opened by libibverbs.
class ibverbs_context final : public device_context {
 public:
  static result<std::unique_ptr<device_context>> open(reactor& home, ibv_device& device);
  ~ibverbs_context() override;
  ibverbs_context(const ibverbs_context&) = delete;
  ibverbs_context& operator=(const ibverbs_context&) = delete;

  device_limits limits() override;
  result<port_facts> port(std::uint8_t number) override;
  result<gid_entry> address(std::uint8_t port, std::uint32_t index) override;
  result<memory_object*> register_memory(std::span<std::byte> memory, register_for use) override;
  void deregister(memory_object* memory) noexcept override;
  result<completion_queue*> make_completion_queue(std::uint32_t entries) override;
  void destroy(completion_queue* queue) noexcept override;
  result<receive_queue*> make_receive_queue(std::uint32_t entries) override;
  void destroy(receive_queue* queue) noexcept override;
  result<queue_pair_object*> make_queue_pair(const queue_pair_request& what, std::uint8_t port) override;
  status connect(queue_pair_object* pair, const path_request& path) override;
  result<queue_pair_object*> make_datagram_pair(const datagram_pair_request& what,
                                                std::uint8_t port) override;
  void destroy(queue_pair_object* pair) noexcept override;
  result<address_handle*> make_address_handle(const address_request& to) override;
  void destroy(address_handle* handle) noexcept override;
  std::size_t post(receive_queue* queue, std::span<const receive_request> receives) noexcept override;
  std::size_t post(queue_pair_object* pair, std::span<const send_request> sends) noexcept override;
  std::size_t post(queue_pair_object* pair, std::span<const read_request> reads) noexcept override;
  std::size_t post(queue_pair_object* pair, std::span<const window_request> windows) noexcept override;
  std::uint32_t window_key(const queue_pair_object* pair, std::uint32_t window) const noexcept override;
  std::size_t post(queue_pair_object* pair, std::span<const datagram_request> sends) noexcept override;
  int poll(completion_queue* queue, std::span<completion> into) noexcept override;
  status arm(completion_queue* queue, wake_for what) noexcept override;
  void wake_on_completion(wakeup& waiter) noexcept override;
  bool take_event(device_event& into) noexcept override;
  void wake_on_event(wakeup& waiter) noexcept override;
  void stop_waking(wakeup& stopped) noexcept override;

 private:
  struct memory final : memory_object {
    ibv_mr* region = nullptr;
  };
  struct queue final : completion_queue {
    ibv_cq* cq = nullptr;
  };
  struct shared_receives final : receive_queue {
    ibv_srq* srq = nullptr;
  };
  struct pair final : queue_pair_object {
    ibv_qp* qp = nullptr;
    std::vector<ibv_mw*> windows;
  };
  struct handle final : address_handle {
    ibv_ah* ah = nullptr;
  };

  static constexpr std::uint8_t hops = 64;  // that a message may pass

  explicit ibverbs_context(reactor& home) noexcept : home_(home) {}
  error failed(const char* call, int errno_value) const;
  status set_up(ibv_device& device);
  result<std::uint16_t> full_member_key(std::uint8_t port);
  status make_windows(pair& of, std::uint32_t count);
  ibv_qp* create(ibv_qp_init_attr& wanted) noexcept;
  status make_datagrams_ready(ibv_qp& qp, std::uint16_t partition, std::uint8_t port,
                              std::uint32_t queue_key);
  status make_ready_to_receive(ibv_qp& qp, const path_request& path);
  status make_ready_to_send(ibv_qp& qp, const path_request& path);

  static void completions_readable(void* self) noexcept;
  static void events_readable(void* self) noexcept;
  static void watch_stopped(void* self) noexcept;
  void stopped() noexcept;
  bool take_completion_event() noexcept;

  reactor& home_;
  std::string name_;
  ibv_context* context_ = nullptr;
  ibv_pd* domain_ = nullptr;
  ibv_comp_channel* channel_ = nullptr;
  wakeup* waiter_ = nullptr;
  wakeup* event_waiter_ = nullptr;
  wakeup* stop_waiter_ = nullptr;
  bool event_due_ = false;  // one can be taken from the channel
  fd_watch completions_{home_, &completions_readable, &watch_stopped, this};
  fd_watch events_{home_, &events_readable, &watch_stopped, this};
  member_node<&ibverbs_context::stopped> stopped_{*this};
};

}  // namespace scoll::transport::verbs
