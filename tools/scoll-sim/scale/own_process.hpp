#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace scoll::sim {

/// Runs `fill` in a process of its own and copies what it leaves in `report` back, so that its memory can be
/// measured and is released at once. Throws `std::runtime_error`, naming `what`, if that process dies.
void in_own_process(std::span<std::byte> report, const std::function<void()>& fill, const std::string& what);

/// The largest memory that this process has had, and the processor time that it has used.
struct process_use {
  std::size_t peak_kib = 0;
  double seconds = 0;
};
process_use use_of_this_process();

}  // namespace scoll::sim
