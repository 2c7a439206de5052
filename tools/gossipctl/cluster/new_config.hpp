#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gossipctl {

/// The values for a new configuration file.
struct new_config {
  std::string name;
  std::uint32_t interval_ms = 200;
  double rtt_ms = 1;
  std::uint32_t port = 0;  ///< 0: the default one
  std::uint64_t seed = 0;
  std::string participants;  ///< in the form that `expand_list` reads
  std::string key_file;      ///< empty: none
  std::string directory;     ///< empty: the default one
};

/// Returns the text of the file.
std::string to_toml(const new_config& c);
/// Returns a list of this many addresses on 127.0.0.1, each with a free port, or nothing if there are too
/// few.
std::optional<std::string> local_list(unsigned participants);
/// Writes the file, reads it back and removes it if it is not valid. Returns an empty text on success, else
/// the error.
std::string write_config(const std::filesystem::path& file, const new_config& c, bool replace);

}  // namespace gossipctl
