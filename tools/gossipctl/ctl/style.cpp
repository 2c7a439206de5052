#include "style.hpp"

#include <unistd.h>

#include <cstdlib>

namespace gossipctl {

style style::of_stdout() {
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  const bool unwanted = (no_colour != nullptr && *no_colour != '\0') ||
                        (terminal != nullptr && std::string_view(terminal) == "dumb");
  return {isatty(STDOUT_FILENO) == 1 && !unwanted};
}

}  // namespace gossipctl
