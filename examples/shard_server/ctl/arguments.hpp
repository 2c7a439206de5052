#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "../cluster/new_cluster.hpp"

namespace shard {

/// The command line of shardctl.
struct arguments {
  std::string cluster;
  std::optional<std::uint64_t> node;
  bool as_json = false;
  double timeout_s = 0;
  std::string progress = "auto";
  // The members below belong to single commands.
  bool living = false;
  double pace_ms = 0;
  std::string text;  // a pattern, a folder, the name of an object
  std::string file;
  bool direct = false;  // a put or get as a client of the cluster
  std::string plan;     // of an installation
  std::uint64_t count = 10;
  std::uint64_t max_objects = 100'000;
  std::uint64_t max_mib = 65'536;
  bool all = false;
  std::string form;
  std::string chrome;  // the file for a trace viewer
  std::string folder;
  new_cluster made;
  std::uint64_t slots = 50'000;
  bool delayed = false;
  bool inline_only = false;
  std::uint64_t pool = 0;
  std::uint64_t client = 0;  // to be evicted or admitted; of a put or get, its own id
  bool trace = false;
  std::string step = "show";
  bool again = false;
  std::uint64_t code = 1;
};

/// Thrown for a mistake that the user has to correct; its text is for stderr.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace shard
