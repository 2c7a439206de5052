#pragma once

#include <string>
#include <vector>

namespace scoll::detail {

/// A service of a node beside its collectives, as the node's shutdown sees it: the steps are those of
/// `engine::shutdown`, and it takes part in each.
class node_part {
 public:
  /// Nothing new begins.
  virtual void close() noexcept = 0;
  /// Nothing runs and nobody waits.
  virtual bool idle() const noexcept = 0;
  /// Whoever waits hears that the node ends; what runs is asked to stop.
  virtual void abort() noexcept = 0;
  /// What still runs is answered in its place, so that the links can drain.
  virtual void answer_all() noexcept = 0;
  /// Of the hooks that have not returned.
  virtual void names_of_stuck(std::vector<std::string>& into) const = 0;
  /// Nothing runs in the background any more, nor will.
  virtual bool try_join() noexcept = 0;

 protected:
  ~node_part() = default;
};

}  // namespace scoll::detail
