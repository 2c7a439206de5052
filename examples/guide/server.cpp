#include "server.hpp"

#include <fmt/core.h>

#include <chrono>
#include <utility>

#include "scoll/coro/error_format.hpp"

namespace guide {

using namespace std::chrono_literals;

server::server(scoll::transport::reactor& loop, const scoll::node_options& options,
               const std::string& address)
    : loop_(loop), rail_(loop), node_(loop, rail_, options), port_(loop), work_(loop) {
  node_.serve(usage{&objects_}).value();
  node_
      .serve(put,
             [this](const put_request& asked, scoll::call_context&) { objects_[asked.name] = asked.bytes; })
      .value();
  node_
      .serve(get,
             [this](const std::string& name, scoll::call_context&) -> scoll::result<std::string> {
               const auto found = objects_.find(name);
               if (found == objects_.end()) return scoll::error(scoll::errc::not_found, "no such object");
               return found->second;
             })
      .value();
  node_.listen(address).value();
}

// [join]
void server::join(const std::vector<place>& cluster) {
  std::vector<std::string> addresses;
  std::vector<scoll::gossip_address> nodes;
  for (const place& each : cluster) {
    addresses.push_back(each.address);
    nodes.push_back({each.id, each.address});
    if (each.id != node_.id()) node_.add_peer(each.id, each.address).value();
  }
  // Sorts the addresses into the canonical order, whatever order they were given in.
  const auto shared = scoll::gossip::configuration::make(std::move(addresses), 200ms).value();
  scoll::gossip::options options;
  options.incarnation = node_.incarnation();  // the node's own; otherwise deaths would name another life
  participant_.emplace(loop_, port_, shared, node_.listen_address(), options);
  // Gossip identifies a participant by its position in that order; the node identifies a peer by its id.
  follower_.emplace(scoll::follow(node_, *participant_, nodes).value());
  work_.spawn(gossip());
}

scoll::task<void> server::gossip() {
  const auto ended = co_await scoll::gossip::run(*participant_, work_.token());
  if (!ended) fmt::print(stderr, "node {}: gossip: {}\n", node_.id(), describe(ended.error()));
}
// [join]

// [stop]
scoll::task<scoll::status> server::stop() {
  work_.request_stop();
  co_await work_.join();
  auto ended = co_await node_.shutdown(5s);
  co_return ended;
}
// [stop]

}  // namespace guide
