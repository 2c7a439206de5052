#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "../cluster/cluster_file.hpp"
#include "../services/object_io.hpp"
#include "../store/object_store.hpp"
#include "collectives.hpp"
#include "command.hpp"
#include "heartbeat.hpp"
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
  commands(scoll::node& self, const cluster_config& config, heartbeat& pulse, object_store& store,
           object_desk& desk, scoll::event& stop_wanted)
      : self_(self),
        config_(config),
        heartbeat_(pulse),
        store_(store),
        desk_(desk),
        stop_wanted_(stop_wanted),
        collectives_(self, config.targets(), config.choose_tree) {}

  /// Serves one connection: one command and its answer.
  scoll::task<void> serve(control_connection& client, scoll::stop_token stop);

 private:
  using json = nlohmann::json;

  scoll::task<json> run(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> run_with_others(control_connection& client, command c, scoll::stop_token stop);
  template <class S>
  scoll::task<json> ask(const typename S::request& request, const command& c, scoll::stop_token stop);
  template <class S>
  scoll::task<json> ask_with_progress(control_connection& client, const typename S::request& request,
                                      const command& c, scoll::stop_token stop);
  scoll::task<void> report(control_connection& client, std::uint64_t run, scoll::stop_token stop);

  scoll::task<json> find_names(const command& c, scoll::stop_token stop);
  scoll::task<json> scrub_all(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> ingest_folder(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> move_object(control_connection& client, const command& c, scoll::stop_token stop);
  scoll::task<json> plan(const command& c);
  json status() const;
  json members() const;
  std::uint64_t new_run();

  scoll::node& self_;
  const cluster_config& config_;
  heartbeat& heartbeat_;
  object_store& store_;
  object_desk& desk_;
  scoll::event& stop_wanted_;
  collectives collectives_;
  std::uint64_t runs_ = 0;
};

}  // namespace shard
