#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scoll/settings.hpp"

namespace scoll::detail {

/// A setting as the library knows it: functions that read its value into its place and write it.
struct setting_field {
  std::string_view name;
  std::string_view about;
  std::string_view takes;
  /// Returns false if the text is not an allowed value.
  bool (*read)(settings::values& into, std::string_view text);
  std::string (*write)(const settings::values& from);
  /// Says what is wrong with a text that `read` refuses; null if `takes` says enough.
  std::string (*complain)(std::string_view text);
};

std::span<const setting_field> setting_fields() noexcept;

}  // namespace scoll::detail
