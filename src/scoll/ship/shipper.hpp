#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/client_call.hpp"
#include "scoll/detail/served_function.hpp"
#include "scoll/node_snapshot.hpp"
#include "scoll/ship/options.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::detail {

class engine;

/// Counts the handlers that run for one peer.
struct ship_peer {
  std::uint32_t running = 0;
  node_id gone = 0;  ///< the id of a client that is gone, while handlers of its notifications run on
};

/// The shipped calls of one node: the functions it serves, the calls that run here, and the calls it waits
/// for. It shares the engine's endpoint, and owns the traffic class `call`. It is single-threaded.
class shipper final : private transport::endpoint_events {
 public:
  explicit shipper(engine& beside);
  ~shipper();

  transport::endpoint& wire() noexcept { return wire_; }
  engine& beside() noexcept { return engine_; }
  executor& get_executor() const noexcept { return executor_; }
  const ship_limits& limits() const noexcept { return limits_; }
  /// Whether a handler may hold so many bytes more. Errors: `too_large`, `busy`.
  status check_large(std::size_t bytes) const noexcept;
  void hold_large(std::size_t bytes) noexcept { large_held_ += bytes; }
  void give_back(std::size_t bytes) noexcept { large_held_ -= bytes; }
  const ship_statistics& statistics() const noexcept { return statistics_; }
  /// A scope for calls that no coroutine of the user awaits; it ends with the node.
  scope& background() noexcept { return scope_; }

  status add_function(std::shared_ptr<served_function> f);
  task<void> close_function(std::shared_ptr<served_function> f);

  /// The number of calls that were admitted and have not ended.
  std::size_t server_calls() const noexcept { return server_call_count_; }
  std::size_t server_calls_of(node_id peer) const noexcept;
  /// The number of calls that this node waits for.
  std::size_t outgoing() const noexcept { return outgoing_count_; }
  /// Describes the served functions in the order of their numbers, with the calls of each.
  std::vector<function_snapshot> describe_functions() const;
  /// Describes the calls that run here, the oldest first, at most `most`.
  std::vector<call_snapshot> describe_calls(std::size_t most) const;
  /// The number of bytes of large arguments and results that handlers hold.
  std::size_t large_held() const noexcept { return large_held_; }

  // The steps of `shut_down`.

  /// True if no call runs, here or in the background, and none is awaited.
  bool idle() const noexcept;
  /// Tells all callers that the node ends, and asks the handlers to stop.
  void abort() noexcept;
  /// Answers instead of the handlers that are still running, so that the links can drain.
  void answer_all() noexcept;
  /// Adds the names of the handlers that have not returned.
  void add_running_handlers(std::vector<std::string>& into) const;
  /// Ends the background work, if none is left. Returns false if some is.
  bool try_join() noexcept { return scope_.try_join(); }

 private:
  friend class client_call;
  friend class server_call;

  void on_request(transport::request_view& request) noexcept override;
  void on_cancelled(transport::incoming& work, const transport::cancel_reason& reason) noexcept override;
  void on_session_lost(transport::session& peer, const error& reason) noexcept override;
  void on_client_gone(node_id client) noexcept override;

  error admit(transport::request_view& request);
  error admit_large(transport::request_view& request, const ship_head& head, served_function& f,
                    ship_peer& from);
  status check_rights(const transport::session& from, const function_key& of) const noexcept;
  error answer_other_types(transport::request_view& request, const function_key& here);
  bool room_for(const ship_peer& peer) const noexcept;
  void take(server_call& h, transport::request_view& request, const ship_head& head, ship_peer& from,
            std::size_t large) noexcept;
  served_function* find(std::uint64_t id) noexcept;
  void started(client_call& call) noexcept;
  void ended(client_call& call) noexcept;
  void retire(server_call& h, ship_peer& peer) noexcept;

  engine& engine_;
  transport::endpoint& wire_;
  executor& executor_;
  ship_limits limits_;
  std::vector<std::shared_ptr<served_function>> functions_;  // sorted by id
  std::map<node_id, ship_peer> peers_;
  intrusive_list<server_call, server_call> server_calls_;
  std::size_t server_call_count_ = 0;
  intrusive_list<client_call, client_call> outgoing_;
  std::size_t outgoing_count_ = 0;
  std::size_t large_held_ = 0;
  ship_statistics statistics_;
  scope scope_;
};

}  // namespace scoll::detail
