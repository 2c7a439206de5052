#pragma once

/// All of scoll: coroutines, transport, collectives. Programs that care for compile time include what they
/// use.

#include "../coro/sync_wait.hpp"
#include "../transport/reactor.hpp"
#include "../transport/tcp_rail.hpp"
#include "aggregate.hpp"
#include "bcast.hpp"
#include "bulk.hpp"
#include "bulk_list.hpp"
#include "bulk_stream.hpp"
#include "incarnation_store.hpp"
#include "node.hpp"
#include "plan_tree.hpp"
#include "run_and_wait.hpp"
#include "run_then.hpp"
#include "service.hpp"
#include "ship.hpp"
#include "ship_and_wait.hpp"
#include "ship_then.hpp"
#include "tree/any_tree.hpp"
