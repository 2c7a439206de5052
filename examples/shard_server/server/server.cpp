#include "server.hpp"

#include <poll.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "../services/epochs.hpp"
#include "../services/layout.hpp"
#include "../services/pool.hpp"
#include "../services/presence.hpp"
#include "scoll/collective/measure_links.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/incarnation_store.hpp"
#include "tools/common/rdma_devices.hpp"
#include "transport/io/acceptor.hpp"
#include "transport/io/control_socket.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {

scoll::result<std::vector<scoll::rail_entry>> rails_of(const cluster_node& place,
                                                       std::vector<scoll::rail_entry> chosen) {
  const std::size_t addresses = place.addresses.size();
  if (!chosen.empty() && chosen.size() != addresses) {
    return scoll::make_error(scoll::errc::invalid_argument,
                             "rails.use has {} rails, and node {} of the cluster file {} addresses",
                             chosen.size(), place.id, addresses);
  }
  if (!chosen.empty()) return chosen;
  for (std::size_t i = 0; i < addresses; ++i) {
    const bool rdma = scoll::kit::needs_rdma(place.addresses[i]);
    if (!rdma && addresses == 1) break;
    const auto kind = rdma ? scoll::rail_kind::verbs : scoll::rail_kind::tcp;
    chosen.push_back({std::string(1, static_cast<char>('a' + i)), place.places[i], 0, {}, rdma, kind});
  }
  return chosen;
}

scoll::task<scoll::result<scoll::node_options>> node_options_of(const cluster_config& config,
                                                                std::uint32_t rank, const object_store& store,
                                                                scoll::transport::file_system& files,
                                                                scoll::node_options options) {
  options.id = config.nodes[rank].id;
  options.cluster = config.name;
  options.default_tree = config.tree;  // a property of the whole cluster, so it is no setting here
  options.directory = store.folder();
  const std::string& address = config.nodes[rank].addresses.front();  // the others connect there
  const bool one_rail = config.nodes[rank].addresses.size() == 1;     // several know where they listen
  if (options.listen.empty() && one_rail) options.listen = address;
  if (options.advertise.empty()) options.advertise = address;
  if (options.security.mode == scoll::transport::security_mode::none)
    options.security = config.security_of(std::to_string(options.id));
  const auto chosen = co_await scoll::choose_incarnation(files, options);
  if (!chosen) co_return chosen.error();
  co_return std::move(options);
}

server::server(scoll::transport::reactor& loop, const cluster_config& config,
               const std::filesystem::path& cluster_file, const scoll::node_options& options,
               std::unique_ptr<scoll::node_rails> rails, const scoll::kit::gossip_rdma& rdma,
               std::unique_ptr<object_store> store, std::unique_ptr<installed_files> installed,
               std::unique_ptr<epoch_member> epochs, std::unique_ptr<eviction_list> evicted)
    : reactor_(loop),
      config_(config),
      cluster_file_(std::filesystem::absolute(cluster_file)),
      rank_(*config.rank_of(options.id)),
      store_(std::move(store)),
      installed_(std::move(installed)),
      epoch_member_(std::move(epochs)),
      desk_(*store_, upkeep_),
      clients_(std::move(evicted), desk_),
      installs_(*installed_, board_),
      rails_(std::move(rails)),
      node_(loop, rails_->set(), options),
      introspection_(node_, loop, options.control),
      heartbeat_(loop, config, node_, rails_->entries(), options.security, rdma),
      epochs_(node_, *epoch_member_, static_cast<std::uint32_t>(config.nodes.size())),
      commands_({node_, config, heartbeat_, *store_, desk_, upkeep_, installs_, board_, epochs_},
                stop_wanted_),
      scope_(loop) {
  heartbeat_.on_change([this] { epoch_member_->news(); });
}

// A service's handle serves only to close the service; these services stay until the node ends.
scoll::status server::serve_all() {
  const placement place{rank_, static_cast<std::uint32_t>(config_.nodes.size())};
  if (auto s = node_.serve(presence{}); !s) return s.error();
  if (auto s = node_.serve(df{store_.get()}); !s) return s.error();
  if (auto s = node_.serve(scrub{store_.get(), &board_}); !s) return s.error();
  if (auto s = node_.serve(progress{&board_}); !s) return s.error();
  if (auto s = node_.serve(find{store_.get()}); !s) return s.error();
  if (auto s = node_.serve(top{store_.get()}); !s) return s.error();
  if (auto s = node_.serve(ls{store_.get()}); !s) return s.error();
  if (auto s = node_.serve(ingest{store_.get(), &board_, &upkeep_, place}); !s) return s.error();
  if (auto s = node_.serve(install{&node_, &installs_, &upkeep_}); !s) return s.error();
  if (auto s = node_.serve(object_io{&desk_}); !s) return s.error();
  const auto step = [this](const object_request& asked, scoll::call_context& call) {
    return clients_.serve(call.caller(), asked, call.stop());
  };
  if (auto s = node_.serve(object_call, step); !s) return s.error();
  if (auto s = node_.serve(layout{store_.get()}); !s) return s.error();
  if (auto s = node_.serve(pool{store_.get(), cluster_file_}); !s) return s.error();
  if (auto s = node_.serve(maintenance{&node_, store_.get(), &upkeep_}); !s) return s.error();
  if (auto s = node_.serve(epochs{&config_, epoch_member_.get()}); !s) return s.error();
  if (auto s = node_.serve(clients{&clients_}); !s) return s.error();
  if (auto s = serve_link_probe(node_); !s) return s.error();
  return {};
}

scoll::status server::start() {
  if (const auto served = serve_all(); !served) return served;
  if (const auto listening = node_.listen(); !listening) return listening;
  for (const cluster_node& other : config_.nodes) {
    if (other.id == node_.id()) continue;
    if (const auto known = node_.add_peer(other.id, other.addresses); !known) return known;
  }
  if (const auto opened = introspection_.open(); !opened) return opened;
  auto control = scoll::transport::open_control_socket(place().control);
  if (!control) return control.error();
  control_ = std::move(*control);
  return {};
}

scoll::task<scoll::status> server::run(int signals) {
  constexpr scoll::nanoseconds shutdown_limit = std::chrono::seconds(5);
  scoll::status ended = start();
  if (ended) {
    spdlog::info("node {} of {} listens on {}, announced as {}, tree {}, {} objects", node_.id(),
                 config_.nodes.size(), node_.listen_address(), node_.advertised_address(),
                 config_.tree_text(), store_->objects());
    scope_.spawn(watch_signals(signals));
    scope_.spawn(take_part_in_gossip());
    scope_.spawn(accept_commands(control_.get()));
    scope_.spawn(keep_epochs_settled());
    co_await stop_wanted_.wait();
    spdlog::info("stopping");
    ::unlink(place().control.c_str());
  }
  scope_.request_stop();
  co_await scope_.join();
  const auto parted = co_await node_.shutdown(shutdown_limit);
  co_await introspection_.close();  // until here it says what the shutdown waits for
  if (ended) ended = parted;
  co_return ended;
}

scoll::task<void> server::watch_signals(int signals) {
  const auto arrived = co_await scoll::transport::async_poll(reactor_, signals, POLLIN, scope_.token());
  if (arrived) stop_wanted_.set();
}

/// A server that cannot take part would be declared dead by the others, so it stops.
scoll::task<void> server::take_part_in_gossip() {
  const auto ended = co_await heartbeat_.run(scope_.token());
  if (ended) co_return;
  spdlog::error("gossip: {}", describe(ended.error()));
  stop_wanted_.set();
}

/// The first question has to wait until this server takes part in the gossip.
scoll::task<void> server::keep_epochs_settled() {
  const auto active = co_await heartbeat_.active(scope_.token());
  if (active) co_await epochs_.run(scope_.token());
}

scoll::task<void> server::accept_commands(int listener) {
  constexpr std::size_t clients_at_once = 64;
  scoll::transport::acceptor incoming(reactor_, listener);
  while (!scope_.stop_requested()) {
    auto client = co_await incoming.next(scope_.token());
    if (client && scope_.running() < clients_at_once) {
      scope_.spawn(attend(std::move(*client)));
    } else if (!client && !scope_.stop_requested()) {
      spdlog::warn("control socket: {}", describe(client.error()));
      (co_await scoll::sleep_for(std::chrono::milliseconds(100), scope_.token())).ignore();
    }
  }
  co_await incoming.close();
}

scoll::task<void> server::attend(scoll::transport::unique_fd client) {
  control_connection connection(reactor_, std::move(client));
  co_await commands_.serve(connection, scope_.token());
  if (stop_wanted_.is_set()) parting_.push_back(connection.release());
}

}  // namespace shard
