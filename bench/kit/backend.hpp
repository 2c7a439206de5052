#pragma once

#include <memory>
#include <string>

#include "transport/io/reactor.hpp"

namespace bench {

/// Makes a reactor for a measured process. The heading of the output has already named the backend.
std::unique_ptr<scoll::transport::reactor> make_reactor();

/// The backend that scoll uses here: "io_uring" or "poll".
const std::string& backend_name();

/// True if the raw subjects on io_uring can take part. Rings may be forbidden, or too old for deferred task
/// work.
bool raw_rings_offered();

}  // namespace bench
