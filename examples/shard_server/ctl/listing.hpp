#pragma once

#include "arguments.hpp"

namespace shard::ctl {

/// Prints the names of objects, one a line, while they come. Only what goes wrong is told beside them, on
/// stderr. With --json it prints the lines of the server, the last of which is the answer.
int ls(const arguments& args);

}  // namespace shard::ctl
