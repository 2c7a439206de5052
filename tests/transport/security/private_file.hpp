#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

/// Files with secrets.
namespace security {

/// A file that goes with this object.
struct private_file {
  private_file() { static_cast<void>(::close(::mkstemp(path.data()))); }
  explicit private_file(const std::string& content) : private_file() { write(content); }
  ~private_file() { ::unlink(path.c_str()); }
  private_file(const private_file&) = delete;
  private_file& operator=(const private_file&) = delete;

  void write(const std::string& content, mode_t mode = 0600) const {
    std::ofstream(path) << content;
    ::chmod(path.c_str(), mode);
  }

  std::string path = "/tmp/scoll-secret-XXXXXX";
};

}  // namespace security
