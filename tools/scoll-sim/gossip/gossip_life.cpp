#include "tools/scoll-sim/gossip/gossip_life.hpp"

#include <chrono>
#include <vector>

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

std::deque<testing::sim_datagram_port>& make_ports(std::deque<testing::sim_datagram_port>& ports,
                                                   gossip_environment& e, testing::sim_executor& home) {
  for (std::uint32_t rail = 0; rail < e.rails; ++rail)
    ports.emplace_back(e.datagrams, home, e.address(home.host(), rail));
  return ports;
}

std::vector<transport::datagram_port*> pointers_to(std::deque<testing::sim_datagram_port>& ports) {
  std::vector<transport::datagram_port*> all;
  for (testing::sim_datagram_port& port : ports) all.push_back(&port);
  return all;
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
      member(home, pointers_to(make_ports(ports, e, home)), e.weather.odd(host) ? e.other : e.shared,
             e.shared->id(host), draw_options(e.draws, incarnation)),
      work(home),
      views(e.hosts) {}

void gossip_life::begin() {
  member.subscribe(*this);
  home.enter([this] { work.spawn(take_part(*this)); });
}

bool gossip_life::end() {
  ending = true;
  for (testing::sim_datagram_port& port : ports) port.crash();
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
