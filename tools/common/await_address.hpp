#pragma once

#include <cerrno>
#include <chrono>
#include <thread>

namespace scoll::kit {

/// The kernel lets go of the sockets of a killed process's ring a moment after that process is gone. Whoever
/// holds the lock of its folder (`lock_folder`) knows that there is nobody else, and waits: `open` is tried
/// for five seconds, until its error is another than that the address is in use. Blocking. What it opened is
/// closed again: whoever uses the address next is told what is wrong with it.
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
