#pragma once

/// The fuzzer and the replay of its corpus run this code. A participant accepts, answers or drops any bytes
/// that arrive from a participant's address, and its decoder never reads out of bounds. The first byte of an
/// input chooses its use:
///
///   0  one datagram as it is
///   1  a body behind a valid head, with a valid checksum
///   2  records of a size each, become messages as in 1, to one core that goes on
///   3  the same, to one that follows the source's rules

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "gossip/core.hpp"
#include "gossip/liveness/merge.hpp"
#include "gossip/message.hpp"

namespace fuzz {

namespace gossip = scoll::gossip;

inline void gossip_demand(bool condition) {
  if (!condition) std::abort();
}

struct gossip_target final : gossip::core_output {
  static constexpr std::uint32_t participants = 13;

  explicit gossip_target(bool source) : core(shared(), 2, chosen(source), 4096, scoll::time_point(), *this) {}

  static gossip::configuration_ptr shared() {
    static const gossip::configuration_ptr made = [] {
      std::vector<std::string> names;
      for (std::uint32_t i = 0; i < participants; ++i) names.push_back("p:" + std::to_string(i));
      return gossip::configuration::make(std::move(names), gossip::least_interval).value();
    }();
    return made;
  }
  static gossip::options chosen(bool source) {
    gossip::options o;
    o.seed = 1;
    o.incarnation = 5;
    o.stealth = false;
    if (source) {
      o.ages = gossip::age_rule::relative_ages;
      o.clock = gossip::clock_rule::lamport;
      o.threshold = gossip::threshold_rule::logarithm;
    }
    return o;
  }

  bool send(gossip::participant_index to, gossip::way, std::span<const std::byte> message) noexcept override {
    gossip_demand(to < participants && to != 2);
    const auto head = gossip::decode_head(message);
    gossip_demand(head.has_value());
    const auto life = head->kind == gossip::message_kind::reply ? asks_in : 0;
    const auto plain = gossip::without_checksum(message, {shared()->id(to), life});
    gossip_demand(plain.has_value());
    gossip_demand(
        gossip::decode_body(*head, plain->subspan(gossip::message_head::bytes), participants).has_value());
    return true;
  }
  void changed(const gossip::liveness_event& e) noexcept override {
    gossip_demand(e.who < participants && e.incarnation != 0 && e.epoch == ++epoch);
  }

  void on_message(gossip::participant_index from, std::span<const std::byte> message, scoll::time_point now) {
    const auto head = gossip::decode_head(message);
    asks_in = head ? head->incarnation : 0;
    core.on_message(from, message, now);
  }

  std::uint64_t epoch = 0;
  std::uint64_t asks_in = 0;  // the sender's life that an answer names
  gossip::core core;
};

inline std::vector<std::byte> gossip_message(std::span<const std::uint8_t> in, std::uint64_t sequence) {
  gossip::message_head h;
  const auto byte = [&](std::size_t i) -> unsigned { return i < in.size() ? in[i] : 0; };
  h.kind = (byte(0) & 1U) != 0 ? gossip::message_kind::reply : gossip::message_kind::ping;
  const bool replies = h.kind == gossip::message_kind::reply;
  h.in_full = (byte(0) & 2U) != 0;
  h.obsolete = replies && (byte(0) & 4U) != 0;
  h.objects = replies && (byte(0) & 8U) != 0;
  h.asks = !replies && (byte(0) & 4U) != 0;
  h.established = (byte(0) & 16U) != 0;
  h.sender = static_cast<std::uint16_t>(byte(1) % gossip_target::participants);
  h.clock = byte(2);
  h.incarnation = 1 + byte(3) % 4;
  h.sequence = sequence;
  h.echo = replies ? 1 + byte(4) : 0;
  h.asked = byte(5);
  h.digest = gossip::shortened(gossip_target::shared()->digest());
  h.digest[0] ^= static_cast<std::byte>(byte(6) == 1 ? 1 : 0);
  h.sender_id = gossip_target::shared()->id(h.sender);
  h.receiver_id = gossip_target::shared()->id(2);
  std::vector<std::byte> message(gossip::message_head::bytes + in.size() + gossip::checksum_bytes);
  gossip::message_writer w(message);
  w.head(h);
  std::size_t size = w.size();
  for (std::size_t i = 7; i < in.size(); ++i) message[size++] = static_cast<std::byte>(in[i]);
  const std::uint64_t life = replies ? gossip_target::chosen(false).incarnation : 0;
  message.resize(gossip::add_checksum(message, size, {h.receiver_id, life}));
  return message;
}

inline void gossip_input(std::span<const std::uint8_t> in) {
  if (in.size() < 2) return;
  const unsigned how = in[0] % 4;
  in = in.subspan(1);
  gossip_target t(how == 3);
  scoll::time_point now{};
  if (how == 0) {
    for (gossip::participant_index from = 0; from < gossip_target::participants; ++from)
      t.on_message(from, std::as_bytes(in), now);
  }
  for (std::uint64_t sequence = 1; how != 0 && !in.empty(); ++sequence) {
    const std::size_t size = how == 1 ? in.size() : std::min<std::size_t>(in.size() - 1, in[0]);
    if (how != 1) in = in.subspan(1);
    const auto one = in.first(size);
    in = in.subspan(size);
    const gossip::participant_index from = size > 1 ? one[1] % gossip_target::participants : 0;
    t.on_message(from, gossip_message(one, sequence), now);
    now += gossip::least_interval / 2;
    t.core.on_timer(now);
  }
  gossip_demand(t.core.stage() == gossip::participation::stopped || t.core.ages()[2] == 0);
}

}  // namespace fuzz
