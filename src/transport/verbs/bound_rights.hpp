#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// Which memory windows of a queue pair are bound for which right of the peer. Each piece of a right needs a
/// window. A right is in force when all of them are bound, and at its end when all of them are unbound again;
/// binding and unbinding are requests, which complete later.
class bound_rights {
 public:
  explicit bound_rights(std::uint32_t windows);

  /// Rights are bound to windows.
  bool used() const noexcept { return !windows_.empty(); }
  bool has_room(std::size_t pieces) const noexcept { return free_.size() >= pieces; }
  /// Takes a window for each piece, and returns their numbers; there is room. The requests that bind them follow.
  std::span<const std::uint32_t> take(read_grant& right, std::size_t pieces);
  /// The right is to end. Returns its windows, each of which is to be unbound; none if it has none.
  std::span<const std::uint32_t> end(const read_grant& right) noexcept;

  /// A request about a window has completed. `in_force`: the last of a right's windows is bound. `ended`: the last
  /// of them is unbound, and all are free again.
  struct progress {
    read_grant* in_force = nullptr;
    read_grant* ended = nullptr;
  };
  progress completed(std::uint32_t window) noexcept;

  /// The queue pair is destroyed: nothing is bound.
  void forget_all() noexcept;

 private:
  struct holder {
    read_grant* right = nullptr;
    std::array<std::uint32_t, most_extents> windows{};
    std::size_t count = 0;
    std::size_t open = 0;  // requests that have not completed
    bool ending = false;
  };

  holder& holder_of(std::uint32_t window) noexcept { return holders_[windows_[window]]; }

  std::vector<std::uint32_t> windows_;  // the first window of the right that each one is bound for
  std::vector<holder> holders_;         // by the first window
  std::vector<std::uint32_t> free_;
};

}  // namespace scoll::transport::verbs
