#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gossipctl {

/// 64 hexadecimal digits from the system's entropy. Throws `std::runtime_error` if there is none.
std::string random_key();

/// The keys of a file in order, as text; throws `usage_error` if it is no key file.
std::vector<std::string> read_keys(const std::filesystem::path& file);
/// Replaces the file at once, with mode 0600. Empty if all is well, else what is wrong.
std::string write_keys(const std::filesystem::path& file, const std::vector<std::string>& keys);

/// The public name of a key: 8 hexadecimal digits.
std::string key_id(const std::string& key);

}  // namespace gossipctl
