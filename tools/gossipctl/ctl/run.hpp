#pragma once

#include <stdexcept>

#include "arguments.hpp"

namespace gossipctl {

/// Thrown for a mistake that the user has to correct; the program then ends with `bad_usage`.
struct usage_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The subcommands; each returns an `exit_code`.
int init(const arguments& args);
int run_daemon(const arguments& args);
int start(const arguments& args);
int stop(const arguments& args);
int status(const arguments& args);
int members(const arguments& args);
int watch(const arguments& args);
int dump(const arguments& args);
int explain(const arguments& args);
int metrics(const arguments& args);
int plan(const arguments& args);
int keys(const arguments& args);

}  // namespace gossipctl
