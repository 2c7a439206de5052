#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gossipctl {

/// Returns 64 hexadecimal digits from the system's entropy. Throws `std::runtime_error` if there is none.
std::string random_key();

/// Returns the keys of a file in order, as text. Throws `usage_error` if it is not a key file.
std::vector<std::string> read_keys(const std::filesystem::path& file);
/// Replaces the file atomically, with mode 0600. Returns an empty text on success, else the error.
std::string write_keys(const std::filesystem::path& file, const std::vector<std::string>& keys);

/// Returns the public name of a key: 8 hexadecimal digits.
std::string key_id(const std::string& key);

}  // namespace gossipctl
