#pragma once

/// Coroutines without an operating system: tasks, scopes, stop tokens, results, timers, queues and the worker
/// pool.

#include "scoll/coro/async_queue.hpp"   // IWYU pragma: export
#include "scoll/coro/completion.hpp"    // IWYU pragma: export
#include "scoll/coro/deadline.hpp"      // IWYU pragma: export
#include "scoll/coro/error.hpp"         // IWYU pragma: export
#include "scoll/coro/error_format.hpp"  // IWYU pragma: export
#include "scoll/coro/event.hpp"         // IWYU pragma: export
#include "scoll/coro/executor.hpp"      // IWYU pragma: export
#include "scoll/coro/gate.hpp"          // IWYU pragma: export
#include "scoll/coro/random.hpp"        // IWYU pragma: export
#include "scoll/coro/result.hpp"        // IWYU pragma: export
#include "scoll/coro/scope.hpp"         // IWYU pragma: export
#include "scoll/coro/semaphore.hpp"     // IWYU pragma: export
#include "scoll/coro/sleep.hpp"         // IWYU pragma: export
#include "scoll/coro/stop.hpp"          // IWYU pragma: export
#include "scoll/coro/sync_wait.hpp"     // IWYU pragma: export
#include "scoll/coro/task.hpp"          // IWYU pragma: export
#include "scoll/coro/time.hpp"          // IWYU pragma: export
#include "scoll/coro/time_limit.hpp"    // IWYU pragma: export
#include "scoll/coro/timer.hpp"         // IWYU pragma: export
#include "scoll/coro/when_all.hpp"      // IWYU pragma: export
#include "scoll/coro/when_any.hpp"      // IWYU pragma: export
#include "scoll/coro/worker_pool.hpp"   // IWYU pragma: export
#include "scoll/coro/yield.hpp"         // IWYU pragma: export
