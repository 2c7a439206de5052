#pragma once

#include "bench/kit/options.hpp"

namespace bench::compile {

/// Measures how long it takes to compile a file that includes one public header and nothing else, for each
/// header, with the compiler that built this program. It measures CPU time, so that waiting does not count.
/// `quick` measures the umbrella header alone.
rows run(const bench::options& o);

}  // namespace bench::compile
