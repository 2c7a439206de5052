#include "server_processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

#include "examples/shard_server/cluster/new_cluster.hpp"
#include "examples/shard_server/ctl/conversation.hpp"
#include "tests/catch.hpp"

namespace shard_tests {

using namespace shard;
using nlohmann::json;

server_processes::server_processes(unsigned servers, const std::string& tree) {
  std::string made = (std::filesystem::temp_directory_path() / "scoll-servers-XXXXXX").string();
  REQUIRE(mkdtemp(made.data()) != nullptr);
  folder_ = made;
  new_cluster wanted;
  wanted.nodes = servers;
  wanted.tree = tree;
  file_ = std::get<std::filesystem::path>(make_local_cluster(folder_, wanted));
  config_ = std::get<cluster_config>(read_cluster_file(file_));
  for (const cluster_node& each : config_.nodes) ids_.push_back(each.id);
  for (const std::uint64_t each : ids_) start(each);
}

server_processes::~server_processes() {
  for (const std::uint64_t each : ids_) {
    if (runs(each)) kill(each);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void server_processes::start(std::uint64_t server) {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "shard_server";
  const std::string id = std::to_string(server), data = folder_ / ("node-" + id), log = data + ".log";
  std::vector<std::string> words{program, "--cluster", file_, "--node", id, "--data", data, "--log", log};
  std::vector<char*> arguments;
  for (std::string& each : words) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // should the test end without its destructors
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  processes_.emplace(server, pid);
}

void server_processes::kill(std::uint64_t server) {
  const pid_t pid = processes_.at(server);
  processes_.erase(server);
  ::kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

std::optional<json> server_processes::ask(std::uint64_t server, const json& command,
                                          std::chrono::milliseconds limit) const {
  auto client = control_client::connect(config_.nodes[*config_.rank_of(server)].control);
  if (!client) return std::nullopt;
  return converse(*client, command, progress_style::none, limit);
}

std::optional<json> server_processes::status(std::uint64_t server) const {
  auto answer = ask(server, {{"command", "status"}});
  if (!answer || (*answer)["value"].is_null()) return std::nullopt;
  return std::move((*answer)["value"]);
}

std::string server_processes::log_of(std::uint64_t server) const {
  std::ifstream log(folder_ / fmt::format("node-{}.log", server));
  std::stringstream text;
  text << log.rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() - std::min<std::size_t>(all.size(), 2000));
}

}  // namespace shard_tests
