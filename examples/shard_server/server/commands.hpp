#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "client_commands.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "install_command.hpp"
#include "layout_question.hpp"
#include "maintenance_commands.hpp"
#include "parts.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "transport/io/control_socket.hpp"

namespace shard {

using scoll::transport::control_connection;

/// Serves the commands of the control socket. Long commands write lines of progress before their answer,
/// which is the last line. A client that closes the connection cancels its command.
class commands {
 public:
  commands(const server_parts& parts, scoll::event& stop_wanted)
      : self_(parts.self),
        config_(parts.config),
        heartbeat_(parts.pulse),
        store_(parts.store),
        desk_(parts.desk),
        board_(parts.board),
        epochs_(parts.epochs),
        stop_wanted_(stop_wanted),
        collectives_(self_, config_.targets(), config_.choose_tree),
        layout_(self_, collectives_),
        maintenance_(self_, collectives_, parts.upkeep),
        clients_(self_, collectives_),
        install_(self_, collectives_, parts.installs, parts.upkeep, parts.store.chunks(), parts.board) {}

  /// Serves one connection: one command and its answer.
  scoll::task<void> serve(control_connection& client, scoll::stop_token stop);

 private:
  using json = nlohmann::json;

  scoll::task<json> run(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> run_with_others(control_connection& client, command c, scoll::stop_token stop);
  scoll::task<json> run_active(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> run_on_a_group(const command& c, scoll::stop_token stop);
  template <class S>
  scoll::task<json> ask(const typename S::request& request, const command& c, scoll::stop_token stop);
  scoll::task<json> with_progress(control_connection& client, std::uint64_t run, scoll::task<json> work,
                                  scoll::stop_token stop);
  scoll::task<void> report(control_connection& client, std::uint64_t run, scoll::stop_token stop);

  scoll::task<json> find_names(const command& c, scoll::stop_token stop);
  scoll::task<json> list_names(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> scrub_all(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> ingest_folder(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> install_file(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> move_object(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> plan(const command& c);
  scoll::task<json> trace(const command& c, scoll::stop_token stop);
  json status();
  json members() const;
  std::uint64_t new_run();

  scoll::node& self_;
  const cluster_config& config_;
  heartbeat& heartbeat_;
  object_store& store_;
  object_desk& desk_;
  progress_board& board_;
  epoch_desk& epochs_;
  scoll::event& stop_wanted_;
  collectives collectives_;
  layout_question layout_;
  maintenance_commands maintenance_;
  client_commands clients_;
  install_command install_;
  std::uint64_t runs_ = 0;
};

}  // namespace shard
