#pragma once

#include <string>
#include <vector>

#include "scoll/coro/error.hpp"

namespace scoll::detail {

struct file_setting {
  std::string name;   // the name with its table: "tcp.keep_alive"
  std::string value;  // the value as text, whatever type it has in TOML
  std::string where;  // the place: "scoll.toml:7"
};

struct file_settings {
  std::vector<file_setting> all;
  errc code{};
  std::string complaint;  // empty if the file could be read
};

file_settings read_settings_file(const std::string& path);

}  // namespace scoll::detail
