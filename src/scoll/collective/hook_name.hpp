#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "scoll/detail/service_table.hpp"

namespace scoll::detail {

/// Names a hook for people: "scrub::execute".
inline std::string hook_name(const service_table& table, std::string_view hook) {
  if (!table.name.empty()) return fmt::format("{}::{}", table.name, hook);
  return fmt::format("service {:#06x}::{}", static_cast<std::uint32_t>(table.id), hook);
}

}  // namespace scoll::detail
