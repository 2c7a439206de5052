#pragma once

#include <memory>
#include <string>

#include "transport/io/reactor.hpp"

namespace bench {

/// A reactor for a process that is measured: the heading has said once for all what they run on.
std::unique_ptr<scoll::transport::reactor> make_reactor();

/// What scoll runs on here: "io_uring" or "poll".
const std::string& backend_name();

/// Whether the raw subjects on io_uring can take part: rings may be forbidden, or too old for deferred task
/// work.
bool raw_rings_offered();

}  // namespace bench
