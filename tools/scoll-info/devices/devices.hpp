#pragma once

#include "scoll/settings.hpp"

namespace info {

/// Prints the RDMA devices of this machine, and what is wrong with them. Returns the exit status: 0 if a verbs
/// rail with these settings can use one of them, 1 if it cannot.
int print_devices(const scoll::settings& chosen, bool as_json);

}  // namespace info
