#pragma once

/// All of scoll: coroutines, transport, collectives. Programs that care for compile time include what they
/// use.

#include "scoll/bulk/bulk.hpp"
#include "scoll/bulk/list.hpp"
#include "scoll/bulk/stream.hpp"
#include "scoll/collective/aggregate.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/collective/plan_tree.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/incarnation_store.hpp"
#include "scoll/node.hpp"
#include "scoll/run_and_wait.hpp"
#include "scoll/run_then.hpp"
#include "scoll/ship/ship.hpp"
#include "scoll/ship_and_wait.hpp"
#include "scoll/ship_then.hpp"
#include "scoll/tree/any_tree.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"
