#pragma once

#include <utility>

#include "scoll/coro/result.hpp"

namespace scoll {

/// The result of a shipped call: a `result` that also knows whether the handler may have run.
template <class T>
class [[nodiscard]] ship_result : public result<T> {
 public:
  ship_result(result<T> ended, bool may_have_executed) noexcept
      : result<T>(std::move(ended)), may_have_executed_(may_have_executed) {}

  /// False if the handler never began and never will, so that the call may be repeated safely. After a
  /// success, and after an error of the handler, it is true, and the handler ran once. After any other error,
  /// true means that the handler may have run, or may still run, at most once.
  bool may_have_executed() const noexcept { return may_have_executed_; }

 private:
  bool may_have_executed_;
};

}  // namespace scoll
