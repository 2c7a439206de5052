#pragma once

#include <cstdint>
#include <string>

#include "group_memory.hpp"

namespace bench {

/// Joins a group from a program that was not forked here, but started by the launcher of another library.
/// Such a process is measured like every other member, and carries out orders like them.
class guest {
 public:
  /// `invitation` is the first argument of the invited program, `index` this process's place in the group,
  /// and `name` its name in top and perf. Only a guest that `obeys` gets orders, and the first process must
  /// be one. The constructor returns when the processor usage is being counted, so create the guest before
  /// any thread starts.
  guest(const std::string& invitation, std::uint32_t index, const std::string& name, bool obeys = true);

  member& self() noexcept { return self_; }

 private:
  group_memory memory_;
  scoll::transport::unique_fd orders_;
  member self_;
};

/// Opens the socket where a group's guests get their orders. It has no file, and is named after the group's
/// memory.
scoll::transport::unique_fd listen_for_guests(const std::string& invitation);
/// Accepts the next guest that wants orders; empty if there is none yet.
scoll::transport::unique_fd next_guest(int listener);

}  // namespace bench
