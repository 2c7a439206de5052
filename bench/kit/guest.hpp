#pragma once

#include <cstdint>
#include <string>

#include "group_memory.hpp"

namespace bench {

/// Joins a group from a program that was not forked here, but started by whatever starts the processes of
/// another library. Such a process measures nothing that others do not: it obeys as every member does.
class guest {
 public:
  /// `invitation` is the first argument of the program that was invited, `index` this process's place in the
  /// group, `name` what top and perf call it. Only who `obeys` is given orders: the first process has to.
  /// Returns when its use of the processor is being counted, and is therefore made before threads are.
  guest(const std::string& invitation, std::uint32_t index, const std::string& name, bool obeys = true);

  member& self() noexcept { return self_; }

 private:
  group_memory memory_;
  scoll::transport::unique_fd orders_;
  member self_;
};

/// Where a group's guests are given orders: a socket without a file, named as its memory.
scoll::transport::unique_fd listen_for_guests(const std::string& invitation);
/// The next guest that wants orders; empty if there is none yet.
scoll::transport::unique_fd next_guest(int listener);

}  // namespace bench
