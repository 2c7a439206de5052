#include "heartbeat.hpp"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>
#include <string>

namespace shard {
namespace {

namespace gossip = scoll::gossip;

constexpr std::uint8_t network_control = 48;  // CS6, so that gossip does not wait behind data

scoll::transport::udp_options port_options() {
  scoll::transport::udp_options options;
  options.dscp = network_control;
  return options;
}

gossip::configuration_ptr shared_by_all(const cluster_config& config) {
  std::vector<std::string> addresses;
  addresses.reserve(config.nodes.size());
  for (const cluster_node& node : config.nodes) addresses.push_back(node.address);
  return gossip::configuration::make(std::move(addresses), config.gossip_interval).value();
}

std::vector<scoll::gossip_address> gossip_addresses_of(const cluster_config& config) {
  std::vector<scoll::gossip_address> nodes;
  nodes.reserve(config.nodes.size());
  for (const cluster_node& node : config.nodes) nodes.push_back({node.id, node.address});
  return nodes;
}

gossip::options options_of(const scoll::node& node) {
  gossip::options options;
  options.incarnation = node.incarnation();
  return options;
}

}  // namespace

heartbeat::heartbeat(scoll::transport::reactor& loop, const cluster_config& config, scoll::node& node)
    : port_(loop, port_options()),
      participant_(loop, port_, shared_by_all(config), config.nodes[*config.rank_of(node.id())].address,
                   options_of(node)),
      follower_(scoll::follow(node, participant_, gossip_addresses_of(config)).value()) {
  participant_.subscribe(*this);
}

scoll::task<scoll::status> heartbeat::run(scoll::stop_token stop) {
  return gossip::run(participant_, stop);
}

scoll::task<scoll::status> heartbeat::active(scoll::stop_token stop) {
  return gossip::active(participant_, stop);
}

void heartbeat::on_liveness(const gossip::liveness_event& e) noexcept {
  spdlog::info("node {} is {} (life {}, cycle {})", follower_.node_of(e.who), to_string(e.kind),
               e.incarnation, e.cycle);
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
