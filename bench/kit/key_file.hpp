#pragma once

#include <string>

#include "transport/io/socket.hpp"
#include "transport/security/security_options.hpp"

namespace bench {

/// The file of a ring with one key, for processes that guard their connections. It is in memory, and goes with
/// this object.
class key_file {
 public:
  /// Throws if the file cannot be made.
  key_file();
  /// The path by which this process and its children can read it.
  std::string path() const;

 private:
  scoll::transport::unique_fd file_;
};

/// The security of a measured process: mode `psk` by this file, `none` if the path is empty.
scoll::transport::security_options guarded_by(const std::string& keys);

}  // namespace bench
