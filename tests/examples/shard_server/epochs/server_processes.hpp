#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/shard_server/cluster/cluster_file.hpp"

namespace shard_tests {

/// Shard servers, each a process, in a folder of their own. The programs lie beside that of the test. At the
/// end every process that still runs is killed and reaped, and the folder is removed.
class server_processes {
 public:
  explicit server_processes(unsigned servers, const std::string& tree = "knomial:4");
  ~server_processes();
  server_processes(const server_processes&) = delete;
  server_processes& operator=(const server_processes&) = delete;

  const std::vector<std::uint64_t>& servers() const noexcept { return ids_; }
  bool runs(std::uint64_t server) const { return processes_.contains(server); }
  void start(std::uint64_t server);
  /// Sends SIGKILL and waits for the end.
  void kill(std::uint64_t server);

  /// Sends a command to the control socket of a server. The result is empty if the server is gone, or has
  /// not answered in time. Thread-safe.
  std::optional<nlohmann::json> ask(std::uint64_t server, const nlohmann::json& command,
                                    std::chrono::milliseconds limit = std::chrono::seconds(20)) const;
  /// The value of its status, if it answers.
  std::optional<nlohmann::json> status(std::uint64_t server) const;
  /// The last lines of a server's log.
  std::string log_of(std::uint64_t server) const;

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
  shard::cluster_config config_;
  std::vector<std::uint64_t> ids_;
  std::map<std::uint64_t, pid_t> processes_;
};

/// Waits until something is true, for a minute at most.
template <class True>
bool until(True is_true) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  for (; !is_true(); usleep(20'000)) {
    if (std::chrono::steady_clock::now() > limit) return false;
  }
  return true;
}

}  // namespace shard_tests
