#pragma once

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/build.hpp"

// Runs the program itself, which lies beside this one, exactly as a person starts it.
namespace scoll::test {

struct answer {
  int status = -1;
  std::string text;
};

inline answer run_beside(const char* name, std::vector<std::string> arguments) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  arguments.insert(arguments.begin(), program.string());
  std::vector<char*> argv;
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  answer a;
  char bytes[4096];
  for (ssize_t n = 0; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
    a.text.append(bytes, static_cast<std::size_t>(n));
  close(ends[0]);
  int how = 0;
  waitpid(pid, &how, 0);
  if (WIFEXITED(how)) a.status = WEXITSTATUS(how);
  return a;
}

inline answer scoll_sim(std::vector<std::string> arguments) {
  return run_beside("scoll-sim", std::move(arguments));
}

/// Returns the number of the first line that has this key.
inline std::uint64_t number_in(const std::string& json, const std::string& key) {
  const std::size_t at = json.find("\"" + key + "\":");
  REQUIRE(at != std::string::npos);
  return std::stoull(json.substr(at + key.size() + 3));
}

}  // namespace scoll::test
