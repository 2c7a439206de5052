#pragma once

#include <string_view>

// The one place where the version is written: the build reads it here.
#define SCOLL_VERSION "0.1.0"

namespace scoll {

/// Of this library, "major.minor.patch" by Semantic Versioning.
inline constexpr std::string_view version = SCOLL_VERSION;

}  // namespace scoll
