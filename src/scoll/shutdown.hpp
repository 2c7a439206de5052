#pragma once

#include <memory>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::detail {

class engine;
class shipper;

/// Ends a node: refuses new work, waits for running work, asks the rest to stop, drains the links and closes
/// them. After the limit it names the hooks that are still running (`deadline_exceeded`). docs/lifetimes.md
/// describes the steps.
task<status> shut_down(engine& collectives, shipper& calls, nanoseconds limit);

/// Destroys the parts of a node. If hooks or handlers have not returned, it keeps the parts for as long as
/// the process lives instead, so that they find what they refer to.
void bury(std::unique_ptr<engine> collectives, std::unique_ptr<shipper> calls);

}  // namespace scoll::detail
