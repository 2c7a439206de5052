#pragma once

#include <string>
#include <vector>

#include "scoll/coro/error.hpp"

namespace scoll::detail {

struct file_setting {
  std::string name;   // with its table: "tcp.keep_alive"
  std::string value;  // as text, whatever TOML holds it for
  std::string where;  // "scoll.toml:7"
};

struct file_settings {
  std::vector<file_setting> all;
  errc code{};
  std::string complaint;  // empty if it could be read
};

file_settings read_settings_file(const std::string& path);

}  // namespace scoll::detail
