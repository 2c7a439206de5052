#pragma once

#include "../kit/options.hpp"

namespace bench::compile {

/// How long it takes to compile a file that includes one public header and nothing else, for each of them,
/// with the compiler that built this; CPU time, because compilers do not wait. `quick` takes the umbrella
/// alone.
rows run(const bench::options& o);

}  // namespace bench::compile
