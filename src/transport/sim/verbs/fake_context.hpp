#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/sim/small_queue.hpp"
#include "transport/sim/verbs/fake_fabric.hpp"
#include "transport/sim/verbs/host_call.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::testing {

struct fake_completion_queue final : transport::verbs::completion_queue {
  std::size_t entries = 0;
  transport::verbs::wake_for armed = transport::verbs::wake_for::nothing;
  small_queue<transport::verbs::completion> done;
};

struct fake_receive_queue final : transport::verbs::receive_queue {
  std::size_t entries = 0;
  small_queue<transport::verbs::receive_request> places;
};

/// The address of a host's port.
transport::verbs::gid fake_gid(std::uint32_t host) noexcept;
/// The host of an address; `hosts` if there is none.
std::uint32_t host_of_gid(const transport::verbs::gid& address, std::uint32_t hosts) noexcept;

/// An open device of one host.
class fake_context final : public transport::verbs::device_context, public list_hook<> {
 public:
  fake_context(fake_fabric& fabric, sim_executor& home, std::uint32_t host);
  ~fake_context() override;
  fake_context(const fake_context&) = delete;
  fake_context& operator=(const fake_context&) = delete;

  transport::verbs::device_limits limits() override;
  result<transport::verbs::port_facts> port(std::uint8_t number) override;
  result<transport::verbs::gid_entry> address(std::uint8_t port, std::uint32_t index) override;
  result<transport::verbs::memory_object*> register_memory(std::span<std::byte> memory,
                                                           transport::verbs::register_for use) override;
  void deregister(transport::verbs::memory_object* memory) noexcept override;
  result<transport::verbs::completion_queue*> make_completion_queue(std::uint32_t entries) override;
  void destroy(transport::verbs::completion_queue* queue) noexcept override;
  result<transport::verbs::receive_queue*> make_receive_queue(std::uint32_t entries) override;
  void destroy(transport::verbs::receive_queue* queue) noexcept override;
  result<transport::verbs::queue_pair_object*> make_queue_pair(
      const transport::verbs::queue_pair_request& what, std::uint8_t port) override;
  status connect(transport::verbs::queue_pair_object* pair,
                 const transport::verbs::path_request& path) override;
  result<transport::verbs::queue_pair_object*> make_datagram_pair(
      const transport::verbs::datagram_pair_request& what, std::uint8_t port) override;
  void destroy(transport::verbs::queue_pair_object* pair) noexcept override;
  result<transport::verbs::address_handle*> make_address_handle(
      const transport::verbs::address_request& to) override;
  void destroy(transport::verbs::address_handle* handle) noexcept override;
  std::size_t post(transport::verbs::receive_queue* queue,
                   std::span<const transport::verbs::receive_request> receives) noexcept override;
  std::size_t post(transport::verbs::queue_pair_object* pair,
                   std::span<const transport::verbs::send_request> sends) noexcept override;
  std::size_t post(transport::verbs::queue_pair_object* pair,
                   std::span<const transport::verbs::read_request> reads) noexcept override;
  std::size_t post(transport::verbs::queue_pair_object* pair,
                   std::span<const transport::verbs::window_request> windows) noexcept override;
  std::uint32_t window_key(const transport::verbs::queue_pair_object* pair,
                           std::uint32_t window) const noexcept override;
  std::size_t post(transport::verbs::queue_pair_object* pair,
                   std::span<const transport::verbs::datagram_request> sends) noexcept override;
  int poll(transport::verbs::completion_queue* queue,
           std::span<transport::verbs::completion> into) noexcept override;
  status arm(transport::verbs::completion_queue* queue, transport::verbs::wake_for what) noexcept override;
  void wake_on_completion(transport::verbs::wakeup& waiter) noexcept override;
  bool take_event(transport::verbs::device_event& into) noexcept override;
  void wake_on_event(transport::verbs::wakeup& waiter) noexcept override;
  void stop_waking(transport::verbs::wakeup& stopped) noexcept override;

  fake_fabric& fabric() const noexcept { return fabric_; }
  std::uint32_t host() const noexcept { return host_; }
  bool failed() const noexcept { return failed_; }
  std::size_t not_taken() const noexcept;
  /// True if a range lies in memory that was registered under the key.
  bool holds(std::uint32_t key, const std::byte* data, std::size_t size) const noexcept;
  bool has(const transport::verbs::address_handle* handle) const noexcept;
  /// The memory that a peer READs by a key and the address that goes with it; null if it may not.
  const std::byte* find_for_peers(std::uint32_t key, std::uint64_t address, std::size_t size) const noexcept;
  /// Where peers READ a part of memory that was registered for windows; none if it was not.
  std::optional<std::uint64_t> address_in_window(const transport::verbs::memory_object* object,
                                                 std::span<const std::byte> bytes) const noexcept;
  /// Adds a completion, a little later.
  void complete(fake_completion_queue& queue, const transport::verbs::completion& done) noexcept;
  void tell(const transport::verbs::device_event& event);
  void fail();
  void thaw() noexcept { bring(); }

 private:
  struct memory final : transport::verbs::memory_object {
    std::span<std::byte> bytes;
    transport::verbs::register_for use{};
  };
  struct coming {
    nanoseconds due;
    fake_completion_queue* queue;
    transport::verbs::completion done;
  };

  bool wakes(transport::verbs::wake_for armed, const transport::verbs::completion& done) const noexcept;
  void bring_all_of(const transport::verbs::queue_pair_object& pair) noexcept;
  void bring() noexcept;
  void bring_before_arming() noexcept;
  void wake() noexcept;
  void wake_for_event() noexcept;
  void say_stopped() noexcept;

  fake_fabric& fabric_;
  sim_executor& home_;
  std::uint32_t host_;
  bool failed_ = false;
  bool event_ready_ = false;  // a queue that was armed has had a completion
  std::map<std::uint32_t, std::unique_ptr<memory>> memories_;
  std::list<fake_completion_queue> completion_queues_;
  std::list<fake_receive_queue> receive_queues_;
  std::list<fake_address_handle> handles_;
  small_queue<coming> coming_;
  std::deque<transport::verbs::device_event> events_;
  transport::verbs::wakeup* waiter_ = nullptr;
  transport::verbs::wakeup* event_waiter_ = nullptr;
  transport::verbs::wakeup* stopped_ = nullptr;
  member_timer<&fake_context::bring> arrivals_{*this};  // in the world's time
  host_call<&fake_context::wake> wake_{*this, home_};
  host_call<&fake_context::wake_for_event> wake_for_event_{*this, home_};
  host_call<&fake_context::say_stopped> say_stopped_{*this, home_};
};

}  // namespace scoll::testing
