#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace plan_b {

/// The processes that the program starts: copies of itself, each with a pipe to it and one from it. All of
/// them are killed when this object ends.
class children {
 public:
  children() = default;
  ~children();
  children(const children&) = delete;
  children& operator=(const children&) = delete;

  /// Starts one more process with these arguments. Throws `std::system_error`.
  void start(const std::vector<std::string>& arguments);
  /// Writes to the standard input of every process.
  void write_to_all(std::string_view text);
  /// Sends SIGKILL, and waits for the end.
  void kill(std::size_t which);
  /// Reads what the processes write, and calls `on_line(which, line)` for each line, until `done()` or until
  /// all of them have ended, at most for `limit_s` seconds. Returns false when the time was over.
  bool read(double limit_s, const std::function<bool()>& done,
            const std::function<void(std::size_t, std::string_view)>& on_line);
  /// True if the process has ended by itself with exit code 0.
  bool ended_well(std::size_t which);

 private:
  struct child {
    pid_t pid = -1;
    int in = -1;        // its standard input
    int out = -1;       // its standard output
    std::string begun;  // the beginning of a line
    int status = 0;
    bool reaped = false;
  };
  void take(std::size_t which, const std::function<void(std::size_t, std::string_view)>& on_line);

  std::vector<child> all_;
};

}  // namespace plan_b
