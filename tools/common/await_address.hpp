#pragma once

#include <cerrno>
#include <chrono>
#include <thread>

namespace scoll::kit {

/// Waits until an address is free. The kernel releases the sockets of a killed process's ring a moment after
/// that process is gone. A caller that holds the lock of its folder (`lock_folder`) knows that no other
/// process uses the address, so it can wait. The function calls `open` for up to five seconds, until it
/// succeeds or fails with another error than "address in use". It blocks, and closes what `open` has opened.
/// It reports no error: the next use of the address does.
template <class Open>
void await_address(Open open) {
  constexpr int tries = 500;
  for (int i = 0; i != tries; ++i) {
    const auto opened = open();
    if (opened || opened.error().detail() != EADDRINUSE) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace scoll::kit
