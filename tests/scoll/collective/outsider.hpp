#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "cluster.hpp"
#include "scoll/collective/collective_head.hpp"
#include "tests/catch.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::test {

/// A node that speaks the transport's protocol and sends to the collectives above it whatever a test chooses.
class outsider final : private transport::endpoint_events {
 public:
  struct answer {
    bool came = false;
    error refused;
    detail::collective_reply_head head;
    std::vector<std::byte> payload;
  };

  /// Creates the node on a host of the cluster's network.
  outsider(virtual_cluster& c, node_id self, std::uint32_t host, std::uint64_t incarnation = 1)
      : cluster_(c), rail_(c.network, c.ex, host), wire_(c.ex, rail_, options(c, self, incarnation), *this) {
    wire_.listen(rail_.listen_address()).value();
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      if (i + 1 != self) wire_.add_peer(i + 1, c.address(i)).value();
    }
  }
  ~outsider() {
    while (!held_.empty()) {
      if (held_.front()->open()) held_.front()->drop();
      held_.pop_front();
    }
    cluster_.run(wire_.drain(std::chrono::seconds(1))).ignore();
  }

  transport::endpoint& wire() { return wire_; }

  /// Sends one request and waits for the reply.
  answer ask(node_id to, const detail::collective_head& head, std::span<const std::byte> payload,
             std::uint32_t capacity = 30000) {
    asking a;
    transport::message& m = wire_.acquire_message();
    m.set_head_bytes(wire::encode_to(m.head_space(), head).value());
    put(m, payload);
    REQUIRE(wire_.find(to)->request(a, transport::traffic_class::collective, m, capacity));
    cluster_.ex.run_for(std::chrono::milliseconds(1500));
    if (a.pending()) a.cancel();
    return a.got;
  }

  /// Sets the answer to every request from now on: a head and a payload.
  void answer_all(const detail::collective_reply_head& head, std::vector<std::byte> payload) {
    answering_ = true;
    answer_head_ = head;
    answer_payload_ = std::move(payload);
  }
  /// Sends a part of the answer to the oldest request that is held.
  void send_part(const detail::collective_reply_head& head, std::span<const std::byte> payload) {
    REQUIRE_FALSE(held_.empty());
    held_.front()->reply_part(compose(head, payload));
  }
  /// Answers the oldest request that is held.
  void answer_one(const detail::collective_reply_head& head, std::span<const std::byte> payload) {
    REQUIRE_FALSE(held_.empty());
    held_.front()->reply(compose(head, payload));
    held_.pop_front();
  }
  void refuse_one(const error& why) {
    REQUIRE_FALSE(held_.empty());
    held_.front()->refuse(why);
    held_.pop_front();
  }
  /// The parts that may be sent ahead of the answer to the oldest request that is held.
  std::uint32_t parts_left() const { return held_.empty() ? 0 : held_.front()->parts_left(); }
  bool holds_one() const { return !held_.empty(); }
  /// Why requests were cancelled, and whether the answers were still awaited.
  const std::vector<transport::cancel_reason>& cancels() const { return cancels_; }
  /// Refuses every request from now on.
  void refuse_all(const error& why) { refusal_ = why; }
  /// Returns the head of the last request.
  const detail::collective_head& last_head() const { return last_head_; }
  int requests() const { return requests_; }

 private:
  struct asking : transport::exchange {
    asking() : exchange(&heard) {}
    static void heard(transport::exchange& self, transport::reply_event& event) noexcept {
      auto& a = static_cast<asking&>(self).got;
      if (!event.final) return;
      a.came = true;
      if (!event.outcome) {
        a.refused = event.outcome.error();
        return;
      }
      if (const auto head = wire::decode_from<detail::collective_reply_head>(event.head)) a.head = *head;
      a.payload.assign(event.payload.bytes.begin(), event.payload.bytes.end());
    }
    answer got;
  };

  /// A node that is in the cluster, too, tells that one's address, because it is to pass for it.
  static transport::endpoint_options options(virtual_cluster& c, node_id self, std::uint64_t incarnation) {
    transport::endpoint_options o;
    if (self <= c.size()) o.advertise = c.address(static_cast<std::uint32_t>(self - 1));
    o.self = self;
    o.cluster = "test";
    o.incarnation = incarnation;
    return o;
  }
  void put(transport::message& m, std::span<const std::byte> payload) {
    const std::uint64_t checksum = wire::checksum(payload);
    if (payload.size() <= transport::message::inline_payload_bytes) return m.copy_payload(payload, checksum);
    transport::buffer_ref buffer = wire_.acquire_payload();
    std::copy(payload.begin(), payload.end(), buffer.data());
    const std::span<const std::byte> kept(buffer.data(), payload.size());
    m.share_payload({std::move(buffer), kept}, checksum);
  }

  void on_request(transport::request_view& request) noexcept override {
    ++requests_;
    if (const auto head = wire::decode_from<detail::collective_head>(request.head())) last_head_ = *head;
    if (refusal_) return request.refuse(refusal_);
    held_.push_back(std::make_unique<transport::incoming>());
    request.accept(*held_.back());
    if (!answering_) return;
    held_.back()->reply(compose(answer_head_, answer_payload_));
    held_.pop_back();
  }
  void on_cancelled(transport::incoming& work, const transport::cancel_reason& reason) noexcept override {
    cancels_.push_back(reason);
    work.drop();
    std::erase_if(held_, [](const auto& held) { return !held->open(); });
  }
  transport::message& compose(const detail::collective_reply_head& head, std::span<const std::byte> payload) {
    transport::message& m = wire_.acquire_message();
    m.set_head_bytes(wire::encode_to(m.head_space(), head).value());
    put(m, payload);
    return m;
  }
  void on_session_lost(transport::session&, const error&) noexcept override {}

  virtual_cluster& cluster_;
  testing::sim_rail rail_;
  transport::endpoint wire_;
  std::deque<std::unique_ptr<transport::incoming>> held_;
  error refusal_;
  bool answering_ = false;
  detail::collective_reply_head answer_head_;
  std::vector<std::byte> answer_payload_;
  detail::collective_head last_head_;
  std::vector<transport::cancel_reason> cancels_;
  int requests_ = 0;
};

}  // namespace scoll::test
