#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gossipctl {

/// The exit status.
enum exit_code : int {
  all_well = 0,
  not_all_alive = 1,  ///< status, members: somebody is dead or unknown; start, stop --all: some failed
  bad_usage = 2,      ///< error in the arguments, the configuration or a key file
  no_daemon = 3,      ///< no daemon answers
  failed = 4,         ///< the daemon refused, or ended
};

struct arguments {
  std::string config;
  bool config_given = false;
  std::string self;  ///< an address or index; empty: the participants of this host
  bool as_json = false;
  bool all = false;
  double wait_s = 10;

  // init
  std::vector<std::string> participants;
  std::string participants_file;
  std::string name = "gossip";
  std::string key_file;
  std::string directory;
  std::uint32_t interval_ms = 200;
  double rtt_ms = 1;
  std::uint32_t port = 0;
  std::uint64_t seed = 0;
  std::uint32_t local = 0;
  bool with_key = false;
  bool force = false;

  // run, start
  std::string log;
  double inject_loss = 0;
  std::uint64_t inject_seed = 1;

  // status, members, watch, dump, explain
  std::string state;
  std::string who;
  std::string form = "text";
  std::optional<double> seconds;
  bool table = false;

  // plan
  std::vector<std::uint32_t> nodes;
  std::vector<double> losses;
  double false_verdicts = 1;
  double pause_s = 1;
  bool interval_given = false;
  bool false_verdicts_given = false;

  // keys
  std::string keys_action;
  std::string key;
};

}  // namespace gossipctl
