// Works with files of another server through shipped calls: small data travels as arguments and results; file
// contents are bulk data that the server pulls and pushes. Prints something like:
//   wrote 5000000 bytes to a file of 5000000, read 5000000 back: the same
//   missing.txt: io_error: open: No such file or directory (errno 2)
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "client.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/local_cluster.hpp"
#include "server.hpp"

using namespace std::chrono_literals;

namespace {

constexpr scoll::node_id server_id = 1;

scoll::task<bool> play(scoll::node& client) {
  scoll::ship_options within;
  within.deadline = 10s;
  auto file = co_await remote_file::client_file::open(client, server_id, "data.bin", true, within);
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
  fmt::print("wrote {} bytes to a file of {}, read {} back: {}\n", *written, about->size, *read,
             same ? "the same" : "not the same");
  const auto missing =
      co_await remote_file::client_file::open(client, server_id, "missing.txt", false, within);
  if (missing) co_return false;
  fmt::print("missing.txt: {}\n", scoll::describe(missing.error()));
  const bool refused = missing.error().domain() == scoll::error_domain::system;
  co_return (same && refused);
}

}  // namespace

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "remote_file.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  bool good = false;
  {
    scoll::local_cluster cluster(2);
    remote_file::server server(cluster[0], cluster.loop(), folder);
    good = cluster.run(play(cluster[1]));
  }
  std::filesystem::remove_all(folder);
  return good ? 0 : 1;
}
