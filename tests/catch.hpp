#pragma once

// Catch2 in either of its major versions: v3 (Debian 13, Ubuntu 24.04) is split into headers, v2 (Debian 12)
// is one.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
