#include "heartbeat.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace shard {
namespace {

namespace gossip = scoll::gossip;

constexpr std::uint8_t network_control = 48;  // CS6, so that gossip does not wait behind data

using port_list = std::vector<std::unique_ptr<scoll::kit::gossip_port>>;

/// A port for each address of this server, on the device of its rail.
port_list ports_of(scoll::transport::reactor& loop, const cluster_node& place,
                   const std::vector<scoll::rail_entry>& rails, const scoll::kit::gossip_rdma& rdma) {
  const scoll::kit::gossip_rdma own = rdma.for_addresses(place.gossip);
  port_list ports;
  for (std::size_t i = 0; i < place.gossip.size(); ++i) {
    scoll::transport::udp_options options;
    options.dscp = network_control;
    if (i < rails.size()) options.device = rails[i].device;
    ports.push_back(std::make_unique<scoll::kit::gossip_port>(loop, place.gossip[i], options, own));
  }
  return ports;
}

std::vector<scoll::transport::datagram_port*> pointers_to(const port_list& ports) {
  std::vector<scoll::transport::datagram_port*> all;
  for (const auto& each : ports) all.push_back(&each->port());
  return all;
}

const cluster_node& place_of(const cluster_config& config, scoll::node_id node) {
  return config.nodes[*config.rank_of(node)];
}

/// Where all servers have one address, they are known by it, and otherwise by their ids.
gossip::configuration_ptr shared_by_all(const cluster_config& config) {
  const bool one_each =
      std::ranges::all_of(config.nodes, [](const cluster_node& each) { return each.places.size() == 1; });
  std::vector<gossip::participant_entry> entries;
  for (const cluster_node& each : config.nodes)
    entries.push_back({one_each ? gossip::participant_id{0} : each.id, each.gossip});
  return gossip::configuration::of_entries(std::move(entries), config.gossip_interval).value();
}

gossip::participant_id id_in(const gossip::configuration& shared, const std::string& address) {
  return shared.id(shared.index_of(address).value());
}

std::vector<scoll::gossip_address> gossip_addresses_of(const cluster_config& config) {
  std::vector<scoll::gossip_address> nodes;
  nodes.reserve(config.nodes.size());
  for (const cluster_node& node : config.nodes) nodes.push_back({node.id, node.gossip.front()});
  return nodes;
}

std::optional<gossip::aead_seal> seal_of(const scoll::transport::security_options& security,
                                         const gossip::configuration& shared) {
  if (security.mode == scoll::transport::security_mode::none) return std::nullopt;
  return std::optional<gossip::aead_seal>(
      std::in_place, scoll::transport::key_ring::read(security.keys).value(), shared.size());
}

gossip::options options_of(const scoll::node& node, std::optional<gossip::aead_seal>& seal) {
  gossip::options options;
  options.incarnation = node.incarnation();
  if (seal) options.seal = &*seal;
  return options;
}

}  // namespace

heartbeat::heartbeat(scoll::transport::reactor& loop, const cluster_config& config, scoll::node& node,
                     const std::vector<scoll::rail_entry>& rails,
                     const scoll::transport::security_options& security, const scoll::kit::gossip_rdma& rdma)
    : heartbeat(loop, config, shared_by_all(config), node, rails, security, rdma) {}

heartbeat::heartbeat(scoll::transport::reactor& loop, const cluster_config& config,
                     const gossip::configuration_ptr& shared, scoll::node& node,
                     const std::vector<scoll::rail_entry>& rails,
                     const scoll::transport::security_options& security, const scoll::kit::gossip_rdma& rdma)
    : ports_(ports_of(loop, place_of(config, node.id()), rails, rdma)),
      seal_(seal_of(security, *shared)),
      participant_(loop, pointers_to(ports_), shared,
                   id_in(*shared, place_of(config, node.id()).gossip.front()), options_of(node, seal_)),
      follower_(scoll::follow(node, participant_, gossip_addresses_of(config)).value()) {
  participant_.subscribe(*this);
  if (seal_) seal_->follow(security.keys);  // as the node does
}

scoll::task<scoll::status> heartbeat::run(scoll::stop_token stop) {
  for (const auto& each : ports_) {
    const scoll::status prepared = each->prepare();
    if (!prepared) co_return prepared;
  }
  const scoll::status ended = co_await gossip::run(participant_, stop);
  co_return ended;
}

scoll::task<scoll::status> heartbeat::active(scoll::stop_token stop) {
  return gossip::active(participant_, stop);
}

void heartbeat::on_liveness(const gossip::liveness_event& e) noexcept {
  spdlog::info("node {} is {} (life {}, cycle {})", follower_.node_of(e.who), to_string(e.kind),
               e.incarnation, e.cycle);
  if (news_) news_();
}

nlohmann::json heartbeat::to_json() const {
  nlohmann::json all;
  for (const char* state : {"alive", "dead", "unknown"}) all[state] = nlohmann::json::array();
  const gossip::snapshot now = participant_.take_snapshot();
  for (const gossip::verdict& each : now.members)
    all[std::string(to_string(each.state))].push_back(follower_.node_of(each.who));
  all["phase"] = to_string(now.stage);
  all["clock"] = now.clock;
  all["threshold_cycles"] = now.threshold;
  return all;
}

}  // namespace shard
