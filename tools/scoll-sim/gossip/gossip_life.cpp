#include "tools/scoll-sim/gossip/gossip_life.hpp"

#include <chrono>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {
namespace {

constexpr std::size_t most_turns_to_end = 100'000;

gossip::options draw_options(gossip_draws& draws, std::uint64_t incarnation) {
  gossip::options o;
  o.seed = draws.bits() | 1;
  o.incarnation = incarnation;
  o.rtt = std::chrono::milliseconds(10);
  return o;
}

task<void> take_part(gossip_life& l) {
  status s = co_await gossip::run(l.member, l.stop.token());
  l.ended.emplace(s);
}

}  // namespace

gossip_life::gossip_life(gossip_environment& e, gossip_change_listener& l, std::uint32_t h)
    : listener(l),
      host(h),
      born(e.now()),
      incarnation(static_cast<std::uint64_t>(born.count()) + 1),
      home(e.world, host, draw_gossip_clock(e.draws, e.weather, host)),
      port(e.datagrams, home),
      member(home, port, e.weather.odd(host) ? e.other : e.shared, testing::sim_network::address_of(host),
             draw_options(e.draws, incarnation)),
      work(home),
      views(e.hosts) {}

void gossip_life::begin() {
  member.subscribe(*this);
  home.enter([this] { work.spawn(take_part(*this)); });
}

bool gossip_life::end() {
  ending = true;
  port.crash();
  home.detach();
  stop.request_stop();
  const bool over = home.run_isolated([this] { return work.running() == 0; }, most_turns_to_end);
  return over && work.try_join();
}

std::string gossip_life::name() const {
  return fmt::format("host {} life {}", host, incarnation);
}

void gossip_life::on_liveness(const gossip::liveness_event& e) noexcept {
  if (!ending) listener.on_change(*this, e);
}

}  // namespace scoll::sim
