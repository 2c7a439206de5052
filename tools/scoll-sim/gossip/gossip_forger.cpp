#include "tools/scoll-sim/gossip/gossip_forger.hpp"

#include <chrono>
#include <cstddef>

#include "gossip/message.hpp"
#include "tools/scoll-sim/gossip/gossip_timing.hpp"

namespace scoll::sim {
namespace {

constexpr nanoseconds between_forgeries = std::chrono::seconds(1);
constexpr std::size_t room_for_forgery = 256;

}  // namespace

void gossip_forger::forge() {
  const nanoseconds now = environment_.now();
  if (environment_.faults == fault_profile::none || now < gossip_faults_begin || now < next_) return;
  next_ = now + between_forgeries;
  const gossip_life* const dead = draw_dead();
  gossip_life* const from = draw_living();
  const gossip_life* const to = draw_living();
  if (dead == nullptr || from == nullptr || to == nullptr || from == to) return;
  const std::uint32_t rail = environment_.rail_draws.below(environment_.rails);
  testing::sim_datagram_port& port = from->ports[rail];
  const auto target = port.parse(environment_.shared->addresses(to->host)[rail]).value();
  port.send(target, message_of(*dead, *to, from->member.clock())).ignore();
}

/// Null if the host that was drawn is up.
const gossip_life* gossip_forger::draw_dead() {
  const gossip_life* const l = lives_.latest(environment_.rail_draws.below(environment_.hosts));
  return l != nullptr && l->dead() ? l : nullptr;
}

/// Null if the host that was drawn does not take part.
gossip_life* gossip_forger::draw_living() {
  const std::uint32_t host = environment_.rail_draws.below(environment_.hosts);
  gossip_life* const l = lives_.present()[host];
  return l != nullptr && l->active() && !environment_.weather.odd(host) ? l : nullptr;
}

std::vector<std::byte> gossip_forger::message_of(const gossip_life& dead, const gossip_life& to,
                                                 std::uint64_t clock) {
  gossip::message_head h;
  h.sender = static_cast<std::uint16_t>(dead.host);
  h.clock = clock;
  h.incarnation = dead.incarnation;
  h.sequence = ++sequence_;
  h.digest = gossip::shortened(environment_.shared->digest());
  h.sender_id = environment_.shared->id(dead.host);
  h.receiver_id = environment_.shared->id(to.host);
  std::vector<std::byte> message(room_for_forgery);
  gossip::message_writer w(message);
  w.head(h);
  w.no_entries();
  w.lives({});
  w.table(0, {}, 0);
  message.resize(gossip::add_checksum(message, w.size(), {h.receiver_id, 0}));
  return message;
}

}  // namespace scoll::sim
