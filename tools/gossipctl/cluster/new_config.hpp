#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gossipctl {

/// What a new configuration file is to say.
struct new_config {
  std::string name;
  std::uint32_t interval_ms = 200;
  double rtt_ms = 1;
  std::uint32_t port = 0;  ///< 0: the default one
  std::uint64_t seed = 0;
  std::string participants;  ///< as `expand_list` reads it
  std::string key_file;      ///< empty: none
  std::string directory;     ///< empty: the default one
};

/// The file's text.
std::string to_toml(const new_config& c);
/// A list of as many addresses on 127.0.0.1, each with a free port; nothing if there are too few.
std::optional<std::string> local_list(unsigned participants);
/// Writes it, reads it back and removes it if it is not valid. Empty if all is well, else what is wrong.
std::string write_config(const std::filesystem::path& file, const new_config& c, bool replace);

}  // namespace gossipctl
