#pragma once

// Includes either major version of Catch2: v3 (Debian 13, Ubuntu 24.04) has several headers, v2 (Debian 12)
// has one.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
