#pragma once

#include <cstdint>
#include <vector>

#include "scoll/coro/ready_node.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/timer.hpp"

namespace scoll {

/// Writes its number into a log when it runs.
class logging_node final : public ready_node {
 public:
  logging_node(std::vector<int>& log, int number) : ready_node(&run), log_(&log), number_(number) {}

 private:
  static void run(ready_node& self) noexcept {
    auto& node = static_cast<logging_node&>(self);
    node.log_->push_back(node.number_);
  }
  std::vector<int>* log_;
  int number_;
};

/// Writes its number into a log when it fires.
class logging_timer final : public timer_node {
 public:
  logging_timer(std::vector<int>& log, int number) : timer_node(&run), log_(&log), number_(number) {}

 private:
  static void run(timer_node& self) noexcept {
    auto& node = static_cast<logging_timer&>(self);
    node.log_->push_back(node.number_);
  }
  std::vector<int>* log_;
  int number_;
};

/// The time this many nanoseconds after the clock began.
inline time_point at(std::int64_t ns) {
  return time_point{nanoseconds{ns}};
}

}  // namespace scoll
