#include "transport/session/endpoint.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/address.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/client_table.hpp"
#include "transport/session/greeter.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/named_rails.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/rails/rail_door.hpp"
#include "transport/session/session_watch.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t small_payload_bytes = endpoint_buffers::small_payload_bytes;

}  // namespace

status endpoint_options::validate() const {
  if (self == 0) return error(errc::invalid_argument, "node id 0 is not valid: choose 1 or more");
  if (is_client(self) != client) {
    return make_error(errc::invalid_argument, "node id {} is {}: ids of 2^63 and more are those of clients",
                      self, client ? "a client's" : "a server's");
  }
  if (incarnation == 0) return error(errc::invalid_argument, "the incarnation must be greater than 0");
  if (cluster.empty() || cluster.size() > max_cluster_name_bytes) {
    return make_error(errc::invalid_argument, "the cluster name has {} bytes: 1 to {} are allowed",
                      cluster.size(), max_cluster_name_bytes);
  }
  for (std::uint32_t w : window) {
    if (w == 0 || w > 65536)
      return make_error(errc::invalid_argument, "a window of {}: 1 to 65536 are allowed", w);
  }
  if (transfer_window == 0 || transfer_window > queue_limit) {
    return make_error(errc::invalid_argument, "transfer_window is {}, not in 1..{} (queue_limit)",
                      transfer_window, queue_limit);
  }
  if (transfer_segment_bytes == 0 || transfer_segment_bytes > max_bulk_payload_bytes) {
    return make_error(errc::invalid_argument, "transfer segments of {} bytes: 1 to {} are allowed",
                      transfer_segment_bytes, max_bulk_payload_bytes);
  }
  if (region_limit == 0 || transfer_buffers == 0 || parked_limit == 0) {
    return error(errc::invalid_argument,
                 "region_limit, transfer_buffers and parked_limit must be greater than 0");
  }
  if (queue_limit == 0 || exchange_limit == 0 || handshake_limit == 0 || handshakes_per_host == 0) {
    return error(errc::invalid_argument, "queue, exchange and handshake limits must be greater than 0");
  }
  if (reconnect_grace.count() <= 0 || backoff_first.count() <= 0 || hello_limit.count() <= 0 ||
      acknowledge_delay.count() <= 0 || unacknowledged_limit.count() <= 0 || probe_interval.count() <= 0 ||
      rails_detect.count() <= 0 || rails_dead.count() <= 0 || rails_prove.count() <= 0) {
    return error(errc::invalid_argument, "times must be positive");
  }
  if (silence_limit.count() < 0) {
    return error(errc::invalid_argument, "silence_limit is negative; 0 stands for no limit");
  }
  if (backoff_limit < backoff_first) {
    return make_error(errc::invalid_argument, "backoff_limit is {} ns, less than backoff_first, {} ns",
                      backoff_limit.count(), backoff_first.count());
  }
  return {};
}

endpoint::endpoint(executor& ex, rail& transport, endpoint_options options, endpoint_events& events,
                   std::shared_ptr<endpoint_buffers> buffers)
    : executor_(ex),
      rail_(transport),
      options_(std::move(options)),
      buffers_(std::move(buffers)),
      random_(options_.incarnation ^ (options_.self * 0x9e3779b97f4a7c15)) {
  options_.validate().value();
  named_ = transport.parts();
  if (named_ != nullptr) rails_ = &named_->rails();
  expect_guarding_rails();
  handlers_.fill(&events);
  // `memory` serves it, once that is needed
  handlers_[static_cast<std::size_t>(traffic_class::bulk)] = nullptr;
}

memory_service& endpoint::memory() noexcept {
  if (memory_ == nullptr) {
    memory_ = std::make_unique<memory_service>(*this);
    endpoint_events*& bulk = handlers_[static_cast<std::size_t>(traffic_class::bulk)];
    if (bulk == nullptr) bulk = memory_.get();
  }
  return *memory_;
}

endpoint_events& endpoint::handler_of(traffic_class klass) noexcept {
  endpoint_events* const handler = handlers_[static_cast<std::size_t>(klass)];
  return handler != nullptr ? *handler : memory();
}

buffer_view endpoint::keep(buffer_view received) noexcept {
  const std::size_t size = received.bytes.size();
  if (size == 0) return {};
  const buffer_ref& in = received.owner;
  if (in && 2 * size >= in.capacity() && in.may_be_kept()) return received;
  buffer_ref buffer =
      (size <= small_payload_bytes ? buffers_->small_payloads : buffers_->payloads).try_acquire();
  if (!buffer) return received;
  std::memcpy(buffer.data(), received.bytes.data(), size);
  const std::span<const std::byte> bytes(buffer.data(), size);
  return {std::move(buffer), bytes};
}

endpoint::~endpoint() {
  stop_listening();
  draining_ = true;
  while (!greeters_.empty()) finish(greeters_.pop_front());
  for (auto& [node, peer] : sessions_) peer->shut();
  if (memory_ != nullptr) memory_->close();
}

status endpoint::listen(const std::string& address) {
  if (options_.client) return error(errc::invalid_argument, "a client accepts no connections");
  const status listening = listen_at(address);
  if (listening) warn_if_unguarded();
  return listening;
}

status endpoint::listen_at(const std::string& address) {
  if (rails_ == nullptr) return rail_.listen(address, *this);
  if (named_ == nullptr) return listen_on_all(address);
  if (const auto s = arrange_transports(address); !s) return s;
  return listen_on_all({});
}

status endpoint::add_peer(node_id node, const std::string& address) {
  return add_peer(node, {&address, 1});
}

status endpoint::add_peer(node_id node, const std::vector<std::string>& addresses) {
  return add_peer(node, std::span(addresses));
}

status endpoint::add_peer(node_id node, std::span<const std::string> addresses) {
  if (node == 0 || node == options_.self || is_client(node)) {
    return make_error(errc::invalid_argument, "node {} cannot be a peer of node {}", node, options_.self);
  }
  if (addresses.empty() || addresses.size() > max_rails) {
    return make_error(errc::invalid_argument, "node {} has {} addresses: 1 to {} are allowed", node,
                      addresses.size(), max_rails);
  }
  for (const std::string& each : addresses) {
    if (const auto s = check_address(each); !s)
      return make_error(s.error().code(), "node {}: {}", node, s.error().text());
  }
  auto& entry = sessions_[node];
  if (entry == nullptr) entry = std::make_unique<session>(*this, node, addresses[0]);
  entry->set_addresses(addresses);
  return {};
}

/// One rail that can reach it is enough.
status endpoint::check_address(std::string_view address) const {
  status first = check_address(rail_, address);
  for (std::size_t i = 1; i < rails() && !first; ++i) {
    if (check_address(rail_at(i), address)) return {};
  }
  return first;
}

status endpoint::check_address(const rail& by, std::string_view address) {
  const std::string_view message = address_of_lane(address, lane_id::control);
  if (const auto s = by.check_address(message); !s || message.size() == address.size()) return s;
  return by.check_address(address_of_lane(address, lane_id::bulk));
}

session* endpoint::find(node_id node) noexcept {
  const auto found = sessions_.find(node);
  return found == sessions_.end() ? nullptr : found->second.get();
}

error endpoint::no_payload_left(std::string_view purpose) const noexcept {
  return make_error(errc::busy, "no buffer left for {}: all {} of {} KiB are in use", purpose,
                    buffers_->payloads.limit(), max_payload_bytes / 1024);
}

void endpoint::watch(session& one) {
  const bool awaits = one.awaits();
  if (!awaits && !one.unsettled()) return;
  if (awaits && one.paths_ != nullptr) one.paths_->used_at = executor_.now();
  if (watch_ == nullptr) watch_ = std::make_unique<session_watch>(executor_);
  watch_->add(one);
}

client_table& endpoint::clients() {
  if (clients_ == nullptr) clients_ = std::make_unique<client_table>(*this);
  return *clients_;
}

void endpoint::tell_client_gone(node_id client) noexcept {
  if (memory_ != nullptr) memory_->forget_peer(client);
  for (auto at = handlers_.begin(); at != handlers_.end(); ++at) {
    if (*at != nullptr && std::find(handlers_.begin(), at, *at) == at) (*at)->on_client_gone(client);
  }
}

void endpoint::tell_session_lost(session& peer, const error& reason) noexcept {
  for (auto at = handlers_.begin(); at != handlers_.end(); ++at) {
    if (*at != nullptr && std::find(handlers_.begin(), at, *at) == at) (*at)->on_session_lost(peer, reason);
  }
}

/// Two sides that connect at once refuse one of the two connections, which is nothing to tell.
void endpoint::note_refusal(node_id peer, const error& reason) noexcept {
  if (reason == errc::already_exists) return;
  statistics_.not_authentic += reason == errc::not_authentic;
  last_refusal_ = reason;
  handler_of(traffic_class::urgent).on_handshake_refused(peer, reason);
}

void endpoint::note_violation(node_id peer, const error& reason) noexcept {
  ++statistics_.links_broken;
  statistics_.not_authentic += reason == errc::not_authentic;
  last_violation_ = reason;
  handler_of(traffic_class::urgent).on_violation(peer, reason);
}

void endpoint::tell_security_news() noexcept {
  const std::string news = options_.security->news();
  if (!news.empty()) handler_of(traffic_class::urgent).on_security_news(news);
}

security_snapshot endpoint::security() {
  if (options_.security == nullptr) return {};
  security_snapshot now = options_.security->look();
  tell_security_news();
  return now;
}

endpoint_usage endpoint::usage() const noexcept {
  endpoint_usage u;
  u.messages.used = buffers_->messages.in_use();
  u.payloads = {buffers_->payloads.lent(), buffers_->payloads.limit()};
  u.small_payloads = {buffers_->small_payloads.lent(), buffers_->small_payloads.limit()};
  u.handshakes = {handshake_count_, options_.handshake_limit};
  u.clients = {clients_ == nullptr ? 0 : clients_->size(), options_.clients};
  u.notices = {notices_queued_, limits::queued_notices};
  u.regions.most = options_.region_limit;
  u.transfer_buffers.most = options_.transfer_buffers;
  u.parked_orders.most = options_.parked_limit;
  if (memory_ == nullptr) return u;
  u.regions.used = memory_->regions().size();
  u.transfer_buffers.used = memory_->buffers().lent();
  u.parked_orders.used = memory_->pieces().parked();
  return u;
}

bool endpoint::quiet() const noexcept {
  return std::all_of(sessions_.begin(), sessions_.end(), [](const auto& s) { return s.second->quiet(); });
}

bool endpoint::say_goodbye() noexcept {
  bool all = true;
  for (auto& [node, peer] : sessions_) {
    for (auto& l : peer->lanes_) all &= l == nullptr || l->leave();
  }
  return all;
}

/// Waits until something has ended that a drain waits for, or until the stop.
task<void> endpoint::progress(stop_token stop) {
  progress_.reset();
  const status heard = co_await progress_.wait(stop);
  heard.ignore();
}

task<status> endpoint::drain(nanoseconds limit) {
  deadline_stop over{deadline(saturating_add(executor_.now(), limit))};
  draining_ = true;
  stop_listening();
  if (memory_ != nullptr) memory_->pieces().refuse_all({errc::closed, "this node is shutting down"});
  while (!quiet() && !over.stop_requested()) co_await progress(over.token());
  const bool clean = quiet();
  while (!say_goodbye() && !over.stop_requested()) co_await progress(over.token());
  for (auto& [node, peer] : sessions_) peer->shut();
  while (!greeters_.empty()) finish(greeters_.pop_front());
  for (std::size_t i = 0; i < rails(); ++i) {
    while (rail_at(i).open() != 0) co_await rail_at(i).all_closed();
  }
  if (!clean)
    co_return error(errc::deadline_exceeded, "work was still under way when the drain limit was reached");
  co_return status{};
}

}  // namespace scoll::transport
