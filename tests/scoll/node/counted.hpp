#pragma once

#include <cstdint>

#include "scoll/collective/bcast.hpp"
#include "scoll/ship/ship.hpp"

namespace scoll::test {

/// A service that counts the members that execute its request.
struct count {
  static constexpr service_id id{0x0100};
  struct request {};
  using reply = std::uint64_t;
  static reply execute(const request&, bcast_context&) { return 1; }
  static void merge(reply& into, const reply& from) noexcept { into += from; }
};

inline constexpr remote_function<std::uint32_t, std::uint32_t> twice{"test.twice"};

}  // namespace scoll::test
