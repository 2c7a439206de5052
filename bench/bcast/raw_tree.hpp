#pragma once

#include <vector>

#include "bcast.hpp"
#include "bench/kit/sockets.hpp"

namespace bench::bcast {

/// A process's place in the tree, with the connections to its neighbours. Children are in the order in which
/// the tree sends to them.
class raw_place {
 public:
  raw_place(member& me, const setting& s);

  bool is_root() const noexcept { return me_.index() == 0; }
  std::uint64_t own_value() const noexcept { return me_.index() + 1; }
  int parent() const noexcept { return parent_.get(); }
  const std::vector<unique_fd>& children() const noexcept { return children_; }
  member& self() noexcept { return me_; }
  void reached() noexcept;
  /// Reports how many system calls the latest broadcast took.
  void count(std::uint64_t syscalls) noexcept { me_.page().syscalls += syscalls; }

 private:
  member& me_;
  unique_fd parent_;
  std::vector<unique_fd> children_;
};

/// The root broadcasts as often as its orders say; the other processes serve for ever.
template <class Node>
void play_raw(raw_place& place, Node& node, const setting& s) {
  place.self().ready();
  if (!place.is_root()) {
    while (true) node.serve_one();
  }
  place.self().serve([&] {
    if (node.broadcast() != s.expected_sum()) throw std::runtime_error("the sum is wrong");
  });
}

}  // namespace bench::bcast
