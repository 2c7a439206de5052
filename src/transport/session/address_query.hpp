#pragma once

#include <string>

#include "scoll/coro/completion.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

class endpoint;
class greeting_room;

/// Asks the node at an address for its id, over a connection of its own on which no session begins.
class address_query final : public connect_events, public link_events {
 public:
  address_query(endpoint& by, std::string address) noexcept : endpoint_(by), address_(std::move(address)) {}
  ~address_query();
  address_query(const address_query&) = delete;
  address_query& operator=(const address_query&) = delete;

  /// The id of the node there. Errors: `unreachable`, `cancelled`, or why that node refuses this one.
  task<result<node_id>> ask(stop_token stop);

 private:
  void on_connected(link& connected) noexcept override;
  void on_connect_failed(const error& reason) noexcept override;
  void on_frame(frame_view& frame) noexcept override;
  void on_writable() noexcept override;
  void on_closed(const error& reason) noexcept override;
  void finish(const result<node_id>& with) noexcept;
  frame_parts encode_identity(greeting_room& room) const noexcept;
  bool is_being_guarded() const noexcept;
  void on_step(const frame_view& frame) noexcept;
  void advance_guard() noexcept;

  endpoint& endpoint_;
  std::string address_;
  link* link_ = nullptr;
  bool connecting_ = false;
  completion<result<node_id>> answer_;
};

}  // namespace scoll::transport
