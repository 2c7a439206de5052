#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/event.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/security/security_snapshot.hpp"
#include "transport/session/endpoint_buffers.hpp"
#include "transport/session/endpoint_events.hpp"
#include "transport/session/endpoint_options.hpp"
#include "transport/session/endpoint_statistics.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/session/message.hpp"
#include "transport/session/pulse.hpp"
#include "transport/session/rails/own_rail.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

class client_table;
class memory_service;
class named_rails;
class session_watch;

/// One node's communication with all its peers over a rail: sessions, handshakes, and buffers that several
/// endpoints may share. It serves requests of class bulk itself: these are the gets and puts of registered
/// memory (transfer.hpp). The executor and the rail must outlive it. Await `drain`, then destroy it. Thread:
/// its executor's only.
class endpoint final : private accept_events {
 public:
  endpoint(executor& ex, rail& transport, endpoint_options options, endpoint_events& events,
           std::shared_ptr<endpoint_buffers> buffers = std::make_shared<endpoint_buffers>());
  /// Makes an endpoint of several rails, at least one. The set and its rails must outlive it.
  endpoint(executor& ex, const rail_set& rails, endpoint_options options, endpoint_events& events,
           std::shared_ptr<endpoint_buffers> buffers = std::make_shared<endpoint_buffers>());
  ~endpoint();
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  /// Starts to accept links. Errors are those of the rail. With a set of rails, each listens where its traits
  /// say; `address`, unless it is empty, takes the place of what the first one's say. If one cannot listen,
  /// none does.
  status listen(const std::string& address);
  std::string listen_address() const { return rail_.listen_address(); }
  /// The address that this node tells its peers: `endpoint_options::advertise`, or else where it listens.
  std::string advertised_address() const {
    return options_.advertise.empty() ? listen_address() : options_.advertise;
  }

  /// Makes a node known. A node that is known already gets the new address for its next connection. Error:
  /// `invalid_argument` (node 0 or this one, or what `check_address` refuses); then nothing has changed.
  status add_peer(node_id node, const std::string& address);
  /// Likewise, with the addresses of a node that has several rails, 1 to `max_rails`, in their order.
  status add_peer(node_id node, const std::vector<std::string>& addresses);
  status add_peer(node_id node, std::initializer_list<std::string> addresses) {
    return add_peer(node, std::span(addresses.begin(), addresses.size()));
  }
  /// Checks the form of an address, by `rail::check_address` for each lane. One of the rails must accept it.
  status check_address(std::string_view address) const;

  /// The number of rails, and one of them.
  std::size_t rails() const noexcept { return rails_ == nullptr ? 1 : rails_->size(); }
  rail& rail_at(std::size_t number) const noexcept {
    return rails_ == nullptr ? rail_ : *(*rails_)[number].transport;
  }
  /// The name of a rail; empty if the endpoint was given a rail and no set.
  std::string_view name_of_rail(std::size_t number) const noexcept {
    return rails_ == nullptr ? std::string_view() : (*rails_)[number].name;
  }
  /// The address by which peers reach a rail, as far as it is known.
  std::string address_of_rail(std::size_t number) const;
  std::uint8_t prefix_of_rail(std::size_t number) const noexcept {
    return rails_ == nullptr ? std::uint8_t{0} : (*rails_)[number].traits.prefix;
  }
  std::string_view device_of_rail(std::size_t number) const noexcept {
    return rails_ == nullptr ? std::string_view() : (*rails_)[number].traits.device;
  }
  /// True if the rails are transports by name, so that one address of a peer may name places of two of them.
  bool has_named_rails() const noexcept { return named_ != nullptr; }
  /// What the peers together show of a rail; null while there is nothing to say.
  const own_rail* verdict_on(std::size_t rail) const noexcept;
  /// True if class bulk prefers the rail.
  bool bulk_prefers(std::size_t number) const noexcept {
    return rails_ != nullptr && (*rails_)[number].traits.bulk;
  }
  /// The security mode, and what it has seen. Files that have changed are read again, which blocks.
  security_snapshot security();
  /// The session with a node; null if the node was never added, and is no client that has a place here.
  session* find(node_id node) noexcept;
  /// Asks who is at an address, and makes that node known if it is not. It asks again until it has an answer
  /// or `reconnect_grace` has passed; a node that was found before and is connected is not asked again.
  /// Errors: `invalid_argument`, `cancelled`, those of connecting, and a refusal by the node there.
  task<result<node_id>> find_node(std::string address, stop_token stop = {});
  /// Calls `visit(session&)` for every peer in the order of node ids, for status pages.
  template <class Visitor>
  void sessions(Visitor&& visit) {
    for (auto& [node, peer] : sessions_) visit(*peer);
  }
  /// Calls `visit(session&)` for the peers from the node id `first` on, until it returns false.
  template <class Visitor>
  void sessions_from(node_id first, Visitor&& visit) {
    for (auto at = sessions_.lower_bound(first); at != sessions_.end() && visit(*at->second);) ++at;
  }

  message& acquire_message() { return buffers_->messages.acquire(); }
  void release_message(message& m) noexcept { buffers_->messages.release(m); }
  /// Routes the requests of a class to another layer than the one given at the start. `to` must outlive the
  /// endpoint. It is also told of every lost session.
  void route(traffic_class klass, endpoint_events& to) noexcept {
    handlers_[static_cast<std::size_t>(klass)] = &to;
  }
  /// Lends a buffer for a payload that does not fit in a message, at most `max_payload_bytes`. Empty when too
  /// many are lent out.
  buffer_ref acquire_payload() noexcept { return buffers_->payloads.try_acquire(); }
  /// Returns `busy`, naming what the buffer was for, when none is left.
  error no_payload_left(std::string_view purpose) const noexcept;
  /// Copies a received payload out of its receive buffer, for a layer that holds it for long: receive buffers
  /// that are held are missing for all links. One that fills most of a buffer which may be held stays where
  /// it is. If no memory is left for a copy, this returns `received` unchanged.
  buffer_view keep(buffer_view received) noexcept;

  /// Refuses new requests, waits until all that is owed has been sent and acknowledged, says goodbye and
  /// closes all links. Error: `deadline_exceeded` if that took longer than `limit`; what was left has been
  /// closed. The rail bounds how long closing may take. No other user may have links on the rail.
  task<status> drain(nanoseconds limit);

  /// Lets probes tell peers the pulse of this process, and reports that of peers. Null ends that.
  void follow_pulse(pulse_events* who) noexcept { pulse_ = who; }

  /// The service that connects `memory_region` and the transfers of transfer.hpp with the sessions.
  memory_service& memory() noexcept;

  const endpoint_options& options() const noexcept { return options_; }
  executor& get_executor() const noexcept { return executor_; }
  const endpoint_statistics& statistics() const noexcept { return statistics_; }
  /// Messages in use by all endpoints that share the buffers.
  std::size_t messages_in_use() const noexcept { return buffers_->messages.in_use(); }
  /// Payload buffers held by messages or by layers above, counted over all endpoints that share the buffers.
  std::size_t payloads_in_use() const noexcept {
    return buffers_->payloads.lent() + buffers_->small_payloads.lent();
  }
  /// What the endpoint uses now of the memory and the tables that its options and buffers bound.
  endpoint_usage usage() const noexcept;
  std::size_t handshakes() const noexcept { return handshake_count_; }
  /// Notices that have not been handed to a link yet.
  std::size_t notices_queued() const noexcept { return notices_queued_; }
  /// Why a handshake last failed because this endpoint, or its peer, refused it; for status pages.
  const error& last_refusal() const noexcept { return last_refusal_; }
  /// Why a link was last broken off because of what its peer sent.
  const error& last_violation() const noexcept { return last_violation_; }

 private:
  friend class session;
  friend class request_view;
  friend class incoming;
  friend class lane;
  friend class carrier;
  friend class memory_service;
  friend class client_table;
  friend class address_query;
  class greeter;
  class rail_door;

  status add_peer(node_id node, std::span<const std::string> addresses);
  static status check_address(const rail& by, std::string_view address);
  status listen_at(const std::string& address);
  void warn_if_unguarded() noexcept;
  status listen_on_all(const std::string& first);
  status arrange_transports(const std::string& address);
  std::string address_of_transport(std::size_t number) const;
  own_rail* own_rail_at(std::uint8_t number);
  nanoseconds turn_on_rail(path_health so_far, std::uint8_t number);
  bool has_used_rail(std::uint8_t number) const noexcept;
  bool is_rail_dead(std::size_t number) const noexcept {
    return number < own_rails_.size() && own_rails_[number].dead();
  }
  bool is_rail_of_two(std::uint8_t number) const noexcept;
  bool probe_over_rail(std::uint8_t number) noexcept;
  bool has_rail_in_doubt() const noexcept;
  void settle_rails(nanoseconds patience);
  void note_rail_loss(node_id peer, std::uint8_t number, time_point began);
  void note_rail_answer(std::uint8_t number, time_point left);
  void return_to_rail(std::uint8_t number) noexcept;
  void stop_listening() noexcept;
  void on_accepted(link& accepted) noexcept override { accept(accepted, 0); }
  void on_interface_hint(bool usable) noexcept override { heed_hint(0, usable); }
  void heed_hint(std::uint8_t number, bool usable) noexcept;
  void accept(link& accepted, std::uint8_t by) noexcept;
  void on_identity(greeter& from, std::uint8_t lane_number, frame_view& frame) noexcept;
  result<session*> introduce(const identity& said, std::string_view from) noexcept;
  client_table& clients();
  void tell_client_gone(node_id client) noexcept;
  void finish(greeter& done) noexcept;
  endpoint_events& handler_of(traffic_class klass) noexcept;
  void tell_session_lost(session& peer, const error& reason) noexcept;
  bool quiet() const noexcept;
  task<void> progress(stop_token stop);
  /// Something has ended that `drain` may wait for.
  void note_progress() noexcept {
    if (draining_) progress_.set();
  }
  bool say_goodbye() noexcept;
  void watch(session& one);
  std::uint32_t pulse() const noexcept { return pulse_ == nullptr ? 0 : pulse_->pulse(); }
  void expect_guarding_rails() const;
  void tell_security_news() noexcept;
  void note_refusal(node_id peer, const error& reason) noexcept;
  void note_violation(node_id peer, const error& reason) noexcept;

  executor& executor_;
  rail& rail_;                                     // the first, the only one, or all transports by name
  const rail_set* rails_ = nullptr;                // null if there is only one
  named_rails* named_ = nullptr;                   // `rail_`, if it is all transports by name
  std::vector<std::unique_ptr<rail_door>> doors_;  // of the others
  std::vector<own_rail> own_rails_;                // empty until there is something to note
  endpoint_options options_;
  std::array<endpoint_events*, class_count> handlers_;
  std::shared_ptr<endpoint_buffers> buffers_;
  random_generator random_;
  std::unique_ptr<memory_service> memory_;
  std::unique_ptr<session_watch> watch_;  // made when first needed
  /// Sessions note their progress here until their own end, so that it outlives them.
  event progress_;
  std::unique_ptr<client_table> clients_;  // made when first needed; sessions refer to it until their end
  std::map<node_id, std::unique_ptr<session>> sessions_;
  std::map<std::string, node_id> found_;  // by address
  intrusive_list<greeter> greeters_;
  std::size_t handshake_count_ = 0;
  std::size_t notices_queued_ = 0;
  bool draining_ = false;
  pulse_events* pulse_ = nullptr;
  endpoint_statistics statistics_;
  error last_refusal_;
  error last_violation_;
};

}  // namespace scoll::transport
