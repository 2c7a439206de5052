#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"

namespace scoll::sim {

/// Judges what the hosts of a run say of their own rails.
class rails_verdicts {
 public:
  using hosts = std::vector<std::unique_ptr<rails_host>>;
  /// Both must outlive this object.
  rails_verdicts(const rails_plan& p, const hosts& all) : plan_(p), hosts_(all) {}

  /// Checks what must hold at any time.
  void check(nanoseconds now, violations& found);
  bool any_died() const noexcept { return died_; }
  bool any_came_back() const noexcept { return came_back_; }

 private:
  bool disturbed(std::uint32_t host, std::uint32_t rail, nanoseconds now) const noexcept;
  bool works(std::uint32_t host, std::uint32_t rail, nanoseconds now) const noexcept;
  std::string wrong_news(std::uint32_t host, nanoseconds now);
  std::string untold(const rails_fault& f, nanoseconds now) const;

  const rails_plan& plan_;
  const hosts& hosts_;
  std::vector<std::size_t> heard_;  // by host: the news that have been judged
  bool died_ = false;
  bool came_back_ = false;
};

}  // namespace scoll::sim
