#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/random.hpp"
#include "transport/io/buffer.hpp"
#include "transport/io/datagram.hpp"
#include "transport/io/socket.hpp"
#include "transport/verbs/datagrams/datagram_device.hpp"
#include "transport/verbs/datagrams/datagram_names.hpp"
#include "transport/verbs/datagrams/device_job.hpp"
#include "transport/verbs/datagrams/handle_errand.hpp"
#include "transport/verbs/member_wakeup.hpp"
#include "transport/verbs/verbs_port.hpp"

namespace scoll::transport::verbs {

/// An address handle with the datagrams that are sent by it. It is freed after the last of them.
struct handle_use {
  address_handle* object = nullptr;
  gid address{};
  std::uint16_t lid = 0;
  std::uint32_t sends = 0;  // under way
  bool dropped = false;     // no name has it any more
};

/// What a `verbs_port` is made of: a device, the names, and the port below.
///
/// ```text
///   closed ──bind()──► open ──close()──► ending ──sends, device, port below──► closed
///                      │  ▲
///          device fails│  │opened again, after a pause
///                      ▼  │
///                  without a device
/// ```
class datagram_core final : private datagram_events, private errand_owner, private device_job_owner {
 public:
  datagram_core(executor& home, verbs_api& api, datagram_port& under, verbs_port_options options);
  ~datagram_core();
  datagram_core(const datagram_core&) = delete;
  datagram_core& operator=(const datagram_core&) = delete;

  // datagram_core.cpp
  status prepare(const socket_address& address);
  status bind(const socket_address& address, datagram_events& events);
  const std::string& bound_address() const noexcept { return bound_address_; }
  std::size_t max_bytes() const noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return state_ != state::closed || under_.open(); }

  // datagram_core_sending.cpp
  status send(const datagram_address& to, std::span<const std::byte> bytes) noexcept;

  const datagram_statistics& statistics() const noexcept { return statistics_; }
  verbs_port_statistics verbs_statistics() const noexcept;

 private:
  enum class state : std::uint8_t { closed, open, ending };
  static constexpr std::size_t most_waiting = 16;

  struct send_slot {
    datagram_request request;
    handle_use* by = nullptr;  // null: it is free, or waits
  };
  /// A datagram that waits until it is known where its name leads.
  struct waiting_datagram {
    known_name* to = nullptr;
    std::uint32_t slot = 0;
    std::uint32_t bytes = 0;
    time_point since;
  };

  // datagram_core.cpp
  bool has_device() const noexcept { return device_ != nullptr && !failed_; }
  datagram_device::wish wish_for(const std::string& host) noexcept;
  void adopt(std::unique_ptr<datagram_device> opened) noexcept;
  void begin_watch() noexcept;
  void on_event() noexcept;
  void fail(int errno_value) noexcept;
  void forget_all_sends() noexcept;
  void forget_all_handles() noexcept;
  void end_device() noexcept;
  void watch_ended() noexcept;
  void reopen() noexcept;
  void on_device_job_done(std::unique_ptr<datagram_device> opened) noexcept override;
  void end_if_done() noexcept;

  // datagram_core_sending.cpp
  known_name& enter(const datagram_name& name) noexcept;
  void forget(known_name& name) noexcept;
  void ask_if_due(known_name& name) noexcept;
  status check_room(const known_name& name, std::size_t bytes) const noexcept;
  std::optional<std::uint32_t> take_slot() noexcept;
  std::uint32_t fill(std::uint32_t slot, std::span<const std::byte> bytes) noexcept;
  status wait(known_name& name, std::span<const std::byte> bytes) noexcept;
  waiting_datagram* waiting_for(const known_name& name) noexcept;
  void drop(waiting_datagram& w) noexcept;
  void look_after_waiting() noexcept;
  void push(known_name& name, std::uint32_t slot, std::uint32_t bytes) noexcept;
  void flush() noexcept;
  void on_sent(std::size_t slot, const completion& done) noexcept;
  void release(send_slot& slot) noexcept;
  void now_leads(known_name& name) noexcept;
  void drop_handle(known_name& name) noexcept;
  void retire(handle_use& use) noexcept;
  void begin_errand() noexcept;
  void on_errand_done() noexcept override;
  void attach(known_name& name, const handle_errand::making& made) noexcept;

  // datagram_core_receiving.cpp
  void on_completion() noexcept;
  void step() noexcept;
  bool take_some() noexcept;
  void take_received(const completion& done) noexcept;
  bool judge(const datagram_header& header, const gid& source, std::uint32_t queue_pair) noexcept;
  void deliver(const datagram_name& from, std::span<const std::byte> payload) noexcept;
  bool post_receives(std::span<const std::uint32_t> slots) noexcept;
  void on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept override;
  void answer(const datagram_address& to, std::uint64_t nonce) noexcept;
  void learn(const datagram_address& source, const name_message& said) noexcept;

  executor& home_;
  verbs_api& api_;
  datagram_port& under_;
  verbs_port_options options_;
  random_generator random_;
  state state_ = state::closed;
  datagram_events* events_ = nullptr;
  std::string host_;  // of the own name
  std::string bound_address_;
  socket_address own_address_;
  datagram_name own_name_;
  std::size_t max_bytes_ = 0;  // 0: not known yet
  datagram_statistics statistics_;
  verbs_port_statistics counts_;

  std::unique_ptr<datagram_device> device_;
  device_job job_{*this};
  bool failed_ = false;  // what is left of the device is being put away
  bool watching_ = false;
  bool ending_watch_ = false;
  bool armed_ = false;
  nanoseconds next_pause_;  // before the device is opened again

  datagram_names names_;
  intrusive_list<known_name, wanting_handle> wanting_;
  std::array<waiting_datagram, most_waiting> waiting_{};
  std::size_t waiting_count_ = 0;

  std::vector<send_slot> sends_;
  std::vector<std::uint32_t> free_sends_;
  std::vector<std::uint32_t> batch_;  // slots
  std::size_t posted_ = 0;
  std::deque<handle_use> uses_;
  std::vector<handle_use*> idle_uses_;
  std::vector<address_handle*> to_free_;
  handle_errand errand_{*this};
  std::optional<buffer_pool> buffers_;

  member_node<&datagram_core::step> step_{*this};
  member_node<&datagram_core::flush> flush_{*this};
  member_wakeup<&datagram_core::on_completion> completion_{*this};
  member_wakeup<&datagram_core::on_event> event_{*this};
  member_wakeup<&datagram_core::watch_ended> watch_ended_{*this};
  member_timer<&datagram_core::look_after_waiting> waiting_timer_{*this};
  member_timer<&datagram_core::reopen> reopen_timer_{*this};
  member_timer<&datagram_core::end_device> linger_timer_{*this};
};

}  // namespace scoll::transport::verbs
