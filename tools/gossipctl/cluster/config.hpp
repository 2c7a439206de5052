#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "gossip/configuration.hpp"
#include "scoll/coro/time.hpp"

namespace gossipctl {

inline constexpr std::uint16_t default_port = 7400;
inline constexpr std::uint8_t default_dscp = 48;  // CS6: network control

/// A configuration file that has been read and checked. Every server of a cluster has the same one.
/// docs/gossipctl.md explains each key.
struct config {
  std::filesystem::path file;
  std::string name = "gossip";
  scoll::gossip::configuration_ptr shared;  ///< participants in canonical order, interval
  std::vector<std::string> devices;         ///< network interfaces by rail; empty: routing chooses
  scoll::nanoseconds rtt = std::chrono::milliseconds(1);
  std::uint64_t seed = 0;  ///< 0: from entropy
  double expected_loss = 0.05;
  double false_verdicts_per_year = 1;
  std::uint8_t dscp = default_dscp;
  std::filesystem::path key_file;   ///< empty: nothing is sealed
  std::filesystem::path directory;  ///< has a folder for each daemon that runs here
  std::string log_level = "info";
};

/// Reads a configuration file. A text says what is wrong, with file, line, column and key.
std::variant<config, std::string> read_config(const std::filesystem::path& file);

/// Returns a file's content, or nothing if the file cannot be read or is over 16 MiB.
std::optional<std::string> read_text(const std::filesystem::path& file);

/// The folder where daemons keep their files if the configuration names none.
std::filesystem::path default_directory();

}  // namespace gossipctl
