#pragma once

#include "member.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/io/reactor.hpp"
#include "transport/session/endpoint.hpp"

namespace bench {

/// The counters that a process with a reactor and an endpoint keeps of itself.
struct counts {
  std::uint64_t syscalls = 0;
  std::uint64_t allocations = 0;
  std::uint64_t messages = 0;

  static counts now(const scoll::transport::reactor& ring, const scoll::transport::endpoint& wire) noexcept {
    return {ring.statistics().enters, allocation_counter::on_this_thread(), wire.statistics().frames_sent};
  }
  void show_on(member_page& page) const noexcept {
    page.syscalls = syscalls;
    page.allocations = allocations;
    page.messages = messages;
  }
  /// Adds the difference between `before` and this.
  void add_to(member_page& page, const counts& before) const noexcept {
    page.syscalls += syscalls - before.syscalls;
    page.allocations += allocations - before.allocations;
    page.messages += messages - before.messages;
  }
};

}  // namespace bench
