#pragma once

#include "../cluster/cluster_file.hpp"
#include "../services/install.hpp"
#include "../services/maintenance.hpp"
#include "../services/object_io.hpp"
#include "../services/progress.hpp"
#include "../store/object_store.hpp"
#include "epoch_desk.hpp"
#include "heartbeat.hpp"
#include "scoll/node.hpp"

namespace shard {

/// The parts of a server that its commands use. They outlive the commands.
struct server_parts {
  scoll::node& self;
  const cluster_config& config;
  heartbeat& pulse;
  object_store& store;
  object_desk& desk;
  maintenance_desk& upkeep;
  install_desk& installs;
  progress_board& board;
  epoch_desk& epochs;
};

}  // namespace shard
