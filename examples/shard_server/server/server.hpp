#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "../clients/client_desk.hpp"
#include "../cluster/cluster_file.hpp"
#include "../epochs/epoch_member.hpp"
#include "../services/install.hpp"
#include "../services/maintenance.hpp"
#include "../services/object_io.hpp"
#include "../services/progress.hpp"
#include "../store/installed_files.hpp"
#include "../store/object_store.hpp"
#include "commands.hpp"
#include "epoch_desk.hpp"
#include "heartbeat.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "scoll/node_control.hpp"
#include "scoll/node_rails.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"

namespace shard {

/// The rails of a server: those that were `chosen`, or else one for each of its addresses, if it has several
/// or is reached by RDMA. Bulk data prefer RDMA.
/// Error: `invalid_argument` (not as many were chosen as the server has addresses).
scoll::result<std::vector<scoll::rail_entry>> rails_of(const cluster_node& place,
                                                       std::vector<scoll::rail_entry> chosen);

/// Builds the options of the node with that rank from those that were `chosen`. The incarnation is kept in
/// the store's folder.
scoll::task<scoll::result<scoll::node_options>> node_options_of(const cluster_config& config,
                                                                std::uint32_t rank, const object_store& store,
                                                                scoll::transport::file_system& files,
                                                                scoll::node_options chosen);

/// One process of the cluster: a store, a node with its services, and a control socket, all on one reactor.
/// Each member stands below the members that it uses, so that it is destroyed before them.
class server {
 public:
  /// `cluster_file` is the file that `config` was read from; pools are looked up there. The devices of `rdma` must
  /// outlive the server.
  server(scoll::transport::reactor& loop, const cluster_config& config,
         const std::filesystem::path& cluster_file, const scoll::node_options& options,
         std::unique_ptr<scoll::node_rails> rails, const scoll::kit::gossip_rdma& rdma,
         std::unique_ptr<object_store> store, std::unique_ptr<installed_files> installed,
         std::unique_ptr<epoch_member> epochs, std::unique_ptr<eviction_list> evicted);

  /// Runs until `signals`, a signalfd, is readable or a client asks for a stop on the control socket. Then
  /// the server takes nothing new and gives running work a few seconds to end; the error names the work that
  /// did not end.
  scoll::task<scoll::status> run(int signals);

 private:
  const cluster_node& place() const noexcept { return config_.nodes[rank_]; }
  scoll::status start();
  scoll::status serve_all();
  scoll::task<void> watch_signals(int signals);
  scoll::task<void> take_part_in_gossip();
  scoll::task<void> keep_epochs_settled();
  scoll::task<void> accept_commands(int listener);
  scoll::task<void> attend(scoll::transport::unique_fd client);

  scoll::transport::reactor& reactor_;
  const cluster_config& config_;
  std::filesystem::path cluster_file_;
  std::uint32_t rank_;
  std::unique_ptr<object_store> store_;
  std::unique_ptr<installed_files> installed_;
  std::unique_ptr<epoch_member> epoch_member_;
  progress_board board_;
  maintenance_desk upkeep_;
  object_desk desk_;
  client_desk clients_;
  install_desk installs_;
  std::unique_ptr<scoll::node_rails> rails_;
  scoll::node node_;
  scoll::node_control introspection_;
  heartbeat heartbeat_;
  epoch_desk epochs_;
  scoll::event stop_wanted_;
  commands commands_;
  scoll::transport::unique_fd control_;
  std::vector<scoll::transport::unique_fd> parting_;  // clients that wait until this process ends
  scoll::scope scope_;
};

}  // namespace shard
