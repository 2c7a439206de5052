#pragma once

#include <memory>
#include <utility>

#include "scoll/collective/outcome.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::detail {

/// What becomes of a broadcast after its result has been given out. The broadcast and its result share it.
struct rest_of_broadcast {
  event ended;
  outcome account;  ///< of every member, once it has ended
};

/// Waits for the end of a broadcast. Without a rest, `known` is all there is to know.
inline task<outcome> await_rest(std::shared_ptr<rest_of_broadcast> rest, outcome known) {
  if (rest == nullptr) co_return std::move(known);
  co_await rest->ended.wait();
  co_return rest->account;
}

}  // namespace scoll::detail
