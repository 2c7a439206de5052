#include "tools/scoll-sim/cluster/life.hpp"

namespace scoll::sim {
namespace {

constexpr std::string_view message_transport = "messages";
constexpr std::string_view bulk_transport = "bulk";

}  // namespace

life::life(testing::sim_world& world, const networks& via, testing::sim_disk& disk, std::uint32_t index,
           testing::sim_clock clock)
    : host(index), home(world, index, clock), hosts(world.hosts()), work(home) {
  files.emplace(home, disk);
  for (std::uint32_t i = 0; i < via.rails; ++i) {
    const std::uint32_t at = place_on_rail(host, i, hosts);
    transport::rail& own = rails.emplace_back(via.messages, home, at);
    if (via.datagrams != nullptr) ports.emplace_back(*via.datagrams, home, at);
    if (via.rails > 1)
      all_rails.add(std::to_string(i), own, {.listen = testing::sim_network::address_of(at)}).value();
  }
  if (via.bulk == nullptr) return;
  bulk_rail.emplace(*via.bulk, home);
  both_rails.add(std::string(message_transport), rails.front()).value();
  both_rails.add(std::string(bulk_transport), *bulk_rail).value();
}

life::~life() {
  static_cast<void>(work.join().await_ready());  // nothing runs any more at this point
}

void life::make_node(const node_options& options) {
  if (rails.size() > 1) {
    member = std::make_unique<node>(home, all_rails, options);
  } else {
    member = std::make_unique<node>(
        home, bulk_rail ? static_cast<transport::rail&>(both_rails) : rails.front(), options);
  }
}

std::string life::listening_place() const {
  return rails.size() > 1 ? std::string() : addresses_of(host).front();
}

std::vector<std::string> life::addresses_of(std::uint32_t other) const {
  std::vector<std::string> all;
  for (std::uint32_t i = 0; i < rails.size(); ++i)
    all.push_back(testing::sim_network::address_of(place_on_rail(other, i, hosts)));
  if (bulk_rail)
    all.front() = std::string(message_transport) + "://" + all.front() +
                  ";bulk=" + std::string(bulk_transport) + "://" + all.front();
  return all;
}

std::vector<transport::datagram_port*> life::gossip_ports() {
  std::vector<transport::datagram_port*> all;
  for (testing::sim_datagram_port& port : ports) all.push_back(&port);
  return all;
}

void life::crash(testing::sim_crash how) {
  for (testing::sim_rail& each : rails) each.crash(how);
  if (bulk_rail) bulk_rail->crash(how);
  for (testing::sim_datagram_port& port : ports) port.crash();
  files->crash();
  home.detach();
  crashed = true;
  died_in_stealth = participant != nullptr && participant->stage() != gossip::participation::active;
}

void life::break_all() {
  for (testing::sim_rail& each : rails) each.break_all();
  if (bulk_rail) bulk_rail->break_all();
}

void life::clear() {
  bond.reset();
  witness.reset();
  participant.reset();
  false_orders.clear();
  member.reset();
}

}  // namespace scoll::sim
