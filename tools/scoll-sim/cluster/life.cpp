#include "tools/scoll-sim/cluster/life.hpp"

namespace scoll::sim {
namespace {

constexpr std::string_view message_transport = "messages";
constexpr std::string_view bulk_transport = "bulk";

}  // namespace

life::life(testing::sim_world& world, const networks& via, testing::sim_disk& disk, std::uint32_t index,
           testing::sim_clock clock)
    : host(index), home(world, index, clock), rail(via.messages, home), work(home) {
  files.emplace(home, disk);
  if (via.datagrams != nullptr) port.emplace(*via.datagrams, home);
  if (via.bulk == nullptr) return;
  bulk_rail.emplace(*via.bulk, home);
  both_rails.add(std::string(message_transport), rail).value();
  both_rails.add(std::string(bulk_transport), *bulk_rail).value();
}

life::~life() {
  static_cast<void>(work.join().await_ready());  // nothing runs any more at this point
}

transport::rail& life::way() noexcept {
  if (bulk_rail) return both_rails;
  return rail;
}

std::string life::address_of(std::uint32_t other) const {
  std::string plain = testing::sim_network::address_of(other);
  if (!bulk_rail) return plain;
  return std::string(message_transport) + "://" + plain + ";bulk=" + std::string(bulk_transport) + "://" +
         plain;
}

void life::crash(testing::sim_crash how) {
  rail.crash(how);
  if (bulk_rail) bulk_rail->crash(how);
  if (port) port->crash();
  files->crash();
  home.detach();
  crashed = true;
  died_in_stealth = participant != nullptr && participant->stage() != gossip::participation::active;
}

void life::break_all() {
  rail.break_all();
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
