#pragma once

/// Calls to one server: functions, their handlers, options and results, and calls from programs without
/// coroutines.

#include "scoll/blocking.hpp"              // IWYU pragma: export
#include "scoll/node.hpp"                  // IWYU pragma: export
#include "scoll/ship/call_limit.hpp"       // IWYU pragma: export
#include "scoll/ship/context.hpp"          // IWYU pragma: export
#include "scoll/ship/options.hpp"          // IWYU pragma: export
#include "scoll/ship/remote_function.hpp"  // IWYU pragma: export
#include "scoll/ship/remote_group.hpp"     // IWYU pragma: export
#include "scoll/ship/result.hpp"           // IWYU pragma: export
#include "scoll/ship/ship.hpp"             // IWYU pragma: export
