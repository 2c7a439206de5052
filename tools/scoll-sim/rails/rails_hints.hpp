#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"
#include "tools/scoll-sim/run.hpp"

namespace scoll::sim {

/// Lets the interfaces of a run tell what they tell. One that is said to be back, and is, has connections to
/// all peers soon. Plan and hosts must outlive this object.
class rails_hints {
 public:
  rails_hints(const rails_plan& p, const std::vector<std::unique_ptr<rails_host>>& hosts) noexcept
      : plan_(p), hosts_(hosts) {}

  /// Gives the hints that are due, and checks what has become of those before.
  void pass(nanoseconds now, violations& found);
  /// True if an interface that was back has been connected by because of it.
  bool any_heeded() const noexcept { return heeded_; }

 private:
  void check(const rails_hint& given, violations& found);

  const rails_plan& plan_;
  const std::vector<std::unique_ptr<rails_host>>& hosts_;
  std::size_t given_ = 0;
  std::size_t checked_ = 0;
  bool heeded_ = false;
};

}  // namespace scoll::sim
