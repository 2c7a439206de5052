#pragma once

#include <string_view>

// The only place that states the version; the build reads it from here.
#define SCOLL_VERSION "0.1.0"

namespace scoll {

/// The version of this library, "major.minor.patch" by Semantic Versioning.
inline constexpr std::string_view version = SCOLL_VERSION;

}  // namespace scoll
