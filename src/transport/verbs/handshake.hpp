#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/link.hpp"
#include "transport/verbs/device.hpp"
#include "transport/verbs/introduction.hpp"
#include "transport/verbs/queue_pair.hpp"
#include "transport/verbs/verbs_link.hpp"

namespace scoll::transport::verbs {

/// Is told how a handshake ended. It is over then, and the connection below is the link's or closed.
class handshake_events {
 public:
  /// `waiter` is the one that connects; null for an accepted connection.
  virtual void on_linked(verbs_link& made, connect_events* waiter) noexcept = 0;
  virtual void on_handshake_failed(const error& reason, connect_events* waiter) noexcept = 0;

 protected:
  ~handshake_events() = default;
};

/// The set-up of a link over a connection of the rail below, in bounded time:
///
/// ```text
///   connects:  device open ─► connected below ─► pair made ─► introduce ─► introduced ─► pair connected ─► greets ─► greeted: linked
///   accepts:   device open ─► introduced ─► pair made ─► pair connected ─► introduce ─► greeted: linked, greets
/// ```
/// The queue pair for READs is made before that for messages, by the side that connects if it can READ, and by
/// the other one if both can. Then it is also connected first. The greetings are empty SENDs, which prove that
/// the path carries both ways. The side that accepts introduces itself only when its queue pair can receive, so
/// no greeting is ever sent in vain.
class handshake final : public list_hook<handshake>,
                        private device_waiter,
                        private connect_events,
                        private link_events,
                        private queue_pair_events {
 public:
  handshake(device& d, rail& under, link_buffers& buffers, handshake_events& events) noexcept;
  ~handshake();

  void connect(const std::string& address, connect_events& waiter) noexcept;
  void accept(link& below) noexcept;
  bool of(const connect_events& waiter) const noexcept { return waiter_ == &waiter; }
  bool accepts() const noexcept { return waiter_ == nullptr; }
  /// Ends it without further calls to its owner.
  void abandon() noexcept { delete this; }
  void refuse(const error& reason) noexcept { fail(reason); }

 private:
  void on_device(const status& open) noexcept override;
  void on_connected(link& below) noexcept override;
  void on_connect_failed(const error& reason) noexcept override;
  void on_frame(frame_view& frame) noexcept override;
  void on_writable() noexcept override {}
  void on_closed(const error& reason) noexcept override;
  void on_made(const status& outcome) noexcept override;
  void on_connected(const status& outcome) noexcept override;
  void on_arrival(const buffer_ref& owner, std::span<const std::byte> bytes) noexcept override;
  void on_room() noexcept override {}
  void on_failed(const error& reason) noexcept override { fail(reason); }

  void take_connection(link& below) noexcept;
  void make_pairs() noexcept;
  void connect_pairs() noexcept;
  void introduce() noexcept;
  status learn(std::span<const std::byte> payload) noexcept;
  void fail(const error& reason) noexcept;
  void say_why(const error& reason) noexcept;
  void too_late() noexcept;

  device& device_;
  rail& under_;
  link_buffers& buffers_;
  handshake_events& events_;
  gate_pass open_;
  connect_events* waiter_ = nullptr;
  std::string address_;
  bool connecting_below_ = false;
  bool device_open_ = false;
  bool introduced_ = false;  // the peer has been
  link* below_ = nullptr;
  queue_pair* pair_ = nullptr;
  read_pair* reads_ = nullptr;  // if this side can READ
  introduction peer_;
  std::uint32_t link_id_ = 0;
  member_timer<&handshake::too_late> timer_{*this};
};

}  // namespace scoll::transport::verbs
