#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/random.hpp"
#include "transport/verbs/member_wakeup.hpp"
#include "transport/verbs/opened_device.hpp"
#include "transport/verbs/queue_pair.hpp"
#include "transport/verbs/read_pair.hpp"
#include "transport/verbs/registrar.hpp"

namespace scoll::transport::verbs {

/// Waits until a device is open. It must stay until it has been told.
class device_waiter : public list_hook<device_waiter> {
 public:
  virtual void on_device(const status& open) noexcept = 0;

 protected:
  ~device_waiter() = default;
};

/// The device of a rail, and what its links share: one queue of completions, the places for what arrives, and
/// the slabs that are sent from. It is opened when it is first needed, and again after a failure.
///
/// ```text
///   closed ──await()──► opening ──► open ──device failed──► failing ──links gone──► closing ──► closed
/// ```
/// It waits for completions only while there are queue pairs, and never spins: a step takes what is there, and
/// when it has found less than it could take, the end of the turn arms the queue and looks once more. As long as
/// few sends and no READs are under way, only arrivals wake it; what else completes is looked at with them, and
/// after a while in any case.
class device final {
 public:
  /// The gate `open` is not empty before all work of the device is done.
  device(executor& home, verbs_api& api, const verbs_options& options, gate& open) noexcept;
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// The host that the rail listens on. It must be set before the device is opened.
  void set_host(std::string host) { host_ = std::move(host); }
  /// Calls the waiter in a later step, when the device is open or cannot be opened.
  void await(device_waiter& waiter) noexcept;
  bool is_open() const noexcept { return state_ == state::open; }
  /// Room for one more link; the device is open. `busy` if there is none.
  status admit() noexcept;
  /// Takes all completions that are there now.
  void drain() noexcept;
  registrar& memory() noexcept { return registrar_; }

  const verbs_options& options() const noexcept { return options_; }
  executor& home() const noexcept { return home_; }
  gate_pass pass() noexcept { return open_.pass(); }
  std::uint32_t random_number() noexcept { return static_cast<std::uint32_t>(random_.next()); }

  /// Null if all are in use.
  slab* try_slab() noexcept { return opened_->slabs.try_acquire(); }
  void give_slab(slab& s) noexcept;
  /// So many more sends, or READs, are under way.
  void sends_posted(std::uint32_t count) noexcept;
  void reads_posted(std::uint32_t count) noexcept;
  /// So many of them are no longer.
  void sends_over(std::uint32_t count) noexcept { sends_under_way_ -= count; }
  void reads_over(std::uint32_t count) noexcept { reads_under_way_ -= count; }
  /// Wakes a queue pair when there is a slab.
  void wait_for_slab(queue_pair& pair) noexcept;

  // For queue pairs:
  device_context& context() noexcept { return *opened_->context; }
  control_queue& control() noexcept { return api_.control(); }
  std::uint8_t port_number() const noexcept { return options_.port; }
  queue_pair_request queue_pair_wanted() const noexcept;
  queue_pair_request read_pair_wanted() const noexcept;
  introduction introduce() const;
  path_request path_to(const introduction& peer) const noexcept;
  /// The most READs of one queue pair that are under way, and that are served at a time.
  std::uint32_t reads_out() const noexcept {
    return std::min(opened_->limits.reads_out, options_.read_depth);
  }
  std::uint32_t reads_in() const noexcept { return std::min(opened_->limits.reads_in, options_.read_depth); }
  /// The most bytes of one READ of the device.
  std::uint32_t read_bytes() const noexcept;
  void enter(device_pair& pair) noexcept;
  void list(device_pair& pair) noexcept;
  void unlist(const device_pair& pair) noexcept;
  void touch(queue_pair& pair) noexcept;
  void leave(device_pair& pair) noexcept;
  std::uint32_t grow(std::uint32_t window) noexcept { return budget_.grow(window, options_.link_slots); }
  void give_back(std::uint32_t slots) noexcept { budget_.give_back(slots); }
  // For the registrar:
  device_context* context_if_open() noexcept { return opened_ == nullptr ? nullptr : opened_->context.get(); }
  void close_if_failed() noexcept;

 private:
  enum class state : std::uint8_t { closed, opening, open, failing, closing };
  class opening_job;

  // device.cpp
  void submit_opening() noexcept;
  void opened(result<std::unique_ptr<opened_device>> made,
              std::unique_ptr<registrar::renewal> memory) noexcept;
  void tell_waiters() noexcept;
  void begin_watch() noexcept;
  void end_watch_if_unused() noexcept;
  void watch_ended() noexcept;
  void fail(const error& reason) noexcept;
  void on_event() noexcept;
  void handle(const device_event& event) noexcept;
  void port_stayed_down() noexcept;
  void break_all(const error& reason) noexcept;

  // device_completions.cpp
  void on_completion() noexcept;
  void step() noexcept;
  void end_turn() noexcept;
  void arm() noexcept;
  wake_for wanted() const noexcept;
  void look() noexcept;
  void look_later() noexcept;
  void arm_later() noexcept;
  bool take_some() noexcept;
  void take(const completion& done) noexcept;
  void take_received(const completion& done) noexcept;
  void refill() noexcept;
  void renew_touched() noexcept;
  void tell_news() noexcept;
  void wake_slab_waiter() noexcept;
  void give_back_idle() noexcept;
  static void slot_returned(void* object) noexcept;

  executor& home_;
  verbs_api& api_;
  verbs_options options_;
  gate& open_;
  std::string host_;
  state state_ = state::closed;
  status opening_;  // how it ended
  registrar registrar_{*this};
  std::unique_ptr<opened_device> opened_;
  std::unique_ptr<opening_job> job_;
  intrusive_list<device_waiter, device_waiter> waiters_;
  random_generator random_;
  buffer_pool copies_;  // of arrivals while services hold many places
  slot_budget budget_;

  intrusive_list<device_pair, all_pairs> pairs_;
  std::unordered_map<std::uint32_t, device_pair*> by_number_;
  intrusive_list<queue_pair, touched_list> touched_;
  intrusive_list<queue_pair, slab_waiters> slab_waiters_;
  std::size_t posted_ = 0;  // places
  std::uint32_t sends_under_way_ = 0;
  std::uint32_t reads_under_way_ = 0;
  wake_for armed_ = wake_for::nothing;
  bool taking_ = false;
  bool behind_answers_ = false;  // the end of the turn has let them go first
  bool watching_ = false;
  bool ending_watch_ = false;
  gate_pass watch_;

  member_node<&device::step> step_{*this};
  member_node<&device::refill> refill_{*this};
  member_node<&device::end_turn> end_of_turn_{*this};
  member_node<&device::tell_waiters> told_{*this};
  member_node<&device::wake_slab_waiter> slab_free_{*this};
  member_wakeup<&device::on_completion> completion_{*this};
  member_wakeup<&device::on_event> event_{*this};
  member_wakeup<&device::watch_ended> watch_ended_{*this};
  member_timer<&device::look> look_timer_{*this};
  member_timer<&device::give_back_idle> idle_timer_{*this};
  member_timer<&device::port_stayed_down> port_timer_{*this};
};

}  // namespace scoll::transport::verbs
