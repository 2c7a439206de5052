#include "demo.hpp"

#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "client.hpp"
#include "client_node.hpp"
#include "programs.hpp"
#include "scoll/coro/error_format.hpp"

namespace remote_file {
namespace {

using namespace std::chrono_literals;

/// A folder that is removed in the end.
class temporary_folder {
 public:
  temporary_folder() : path_((std::filesystem::temp_directory_path() / "remote_file.XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr)
      throw std::filesystem::filesystem_error("mkdtemp", path_,
                                              std::error_code(errno, std::generic_category()));
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A server in a process of its own.
class server_process {
 public:
  explicit server_process(const std::string& folder) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
    pid_ = fork();
    if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid_ == 0) _exit(serve_into(folder, ends[1]));
    close(ends[1]);
    std::array<char, 128> text{};
    for (ssize_t n = 0; (n = read(ends[0], text.data(), text.size())) > 0;)
      address_.append(text.data(), static_cast<std::size_t>(n));
    close(ends[0]);
  }
  ~server_process() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  server_process(const server_process&) = delete;
  server_process& operator=(const server_process&) = delete;

  const std::string& address() const noexcept { return address_; }

 private:
  static int serve_into(const std::string& folder, int pipe_end) {
    return serve({.folder = folder}, [pipe_end](const std::string& address) {
      static_cast<void>(write(pipe_end, address.data(), address.size()));
      close(pipe_end);
    });
  }

  pid_t pid_ = -1;
  std::string address_;
};

scoll::task<bool> play(scoll::node& client, const std::string& address) {
  const scoll::ship_options within{.deadline = 10s};
  const auto server = co_await find_server(client, address);
  if (!server) co_return false;
  auto file = co_await client_file::open(client, *server, "data.bin", true, within);
  if (!file) co_return false;
  std::vector<std::byte> data(5'000'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 31 + i / 997);
  const auto written = co_await file->write(data, 0, within);
  const auto about = co_await file->stat(within);
  std::vector<std::byte> back(6'000'000);
  const auto read = co_await file->read(back, 0, within);
  const auto closed = co_await file->close(within);
  if (!written || !about || !read || !closed) co_return false;
  back.resize(*read);
  const bool same = *written == data.size() && about->size == data.size() && back == data;
  fmt::print("put {} bytes to a file of {}, got {} back: {}\n", *written, about->size, *read,
             same ? "the same" : "not the same");
  const auto missing = co_await client_file::open(client, *server, "missing.txt", false, within);
  if (missing) co_return false;
  fmt::print("missing.txt: {}\n", scoll::describe(missing.error()));
  const bool refused = missing.error().domain() == scoll::error_domain::system;
  co_return (same && refused);
}

}  // namespace

int demonstrate() {
  const temporary_folder folder;
  const server_process server(folder.path());
  client_node client;
  return client.run(play(client.node(), server.address())) ? 0 : 1;
}

}  // namespace remote_file
