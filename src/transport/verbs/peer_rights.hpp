#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/bound_rights.hpp"

namespace scoll::transport::verbs {

class read_pair;

/// The rights of the peer of a queue pair to READ memory of this node.
///
/// ```text
///   granting ──told──► in force ──end()──► unbinding ──► ending ──told──► over
///      └────────────────────────────────end()──────────────┘
/// ```
/// Without memory windows, a right is the key of the memory's registration: it is in force at once, nothing is
/// unbound, and it says nothing of how long the peer reads. With them it is the keys of windows that are bound for
/// it alone; it waits until enough of them are free. All rights end when the queue pair is destroyed.
class peer_rights {
 public:
  peer_rights(read_pair& owner, std::uint32_t windows) noexcept : pair_(owner), bound_(windows) {}

  void grant(read_grant& right, std::span<const registered_piece> pieces) noexcept;
  void end(read_grant& right) noexcept;
  /// A request about a window has completed.
  void on_window_done(std::uint32_t window) noexcept;
  /// The queue pair is destroyed ahead of its time. From now on a right may be gone before `finish` tells of its end.
  void forget() noexcept {
    promises_.clear();
    bound_.forget_all();
  }

  // In a step of their own:
  /// Tells of the rights that are in force now, and of those that are over.
  void tell() noexcept;
  /// The queue pair is destroyed: all rights are over.
  void finish() noexcept;

 private:
  using grants = intrusive_list<read_grant, read_grant>;
  struct promise {
    read_grant* to;
    std::array<registered_piece, most_extents> pieces;
    std::array<remote_extent, most_extents> extents;
    std::size_t count;
    enum class state : std::uint8_t { waiting, binding, in_force } is;
  };

  promise* find(const read_grant& right) noexcept;
  void bind_more() noexcept;
  void bind(promise& made) noexcept;
  void unbind(std::span<const std::uint32_t> windows) noexcept;
  void tell_granted() noexcept;

  read_pair& pair_;
  bound_rights bound_;
  std::vector<promise> promises_;  // for `granting_`, in their order
  grants granting_;
  grants in_force_;
  grants unbinding_;
  grants ending_;
};

}  // namespace scoll::transport::verbs
