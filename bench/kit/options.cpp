#include "options.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace bench {

contest_options options::contest(std::uint32_t usual, const std::string& what) const {
  constexpr std::uint32_t quick_rounds = 3;
  contest_options c;
  c.rounds = quick ? std::min(rounds, quick_rounds) : rounds;
  c.operations = operations != 0 ? operations : quick ? std::max(usual / 10, 10U) : usual;
  c.warm_up = std::max(c.operations / 10, 2U);
  c.progress = [what](const std::string& state) { show_progress(what + ": " + state); };
  return c;
}

void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fputs(fmt::format("\r\033[K{}", text).c_str(), stderr);
}

}  // namespace bench
