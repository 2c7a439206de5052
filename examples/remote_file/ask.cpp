#include <fmt/core.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <vector>

#include "client.hpp"
#include "client_node.hpp"
#include "programs.hpp"
#include "scoll/coro/error_format.hpp"

namespace remote_file {
namespace {

using scoll::result;
using scoll::ship_options;
using scoll::task;

ship_options within(const client_arguments& args) {
  return {.deadline = std::chrono::duration<double>(args.timeout_s)};
}

task<result<std::uint64_t>> store(scoll::node& client, const client_arguments& args,
                                  std::span<const std::byte> bytes) {
  const auto server = co_await find_server(client, args.address);
  if (!server) co_return server.error();
  auto file = co_await client_file::open(client, *server, args.name, true, within(args));
  if (!file) co_return file.error();
  const auto written = co_await file->write(bytes, 0, within(args));
  const auto closed = co_await file->close(within(args));
  if (written && !closed) co_return closed.error();
  co_return written;
}

task<result<std::vector<std::byte>>> fetch(scoll::node& client, const client_arguments& args) {
  const auto server = co_await find_server(client, args.address);
  if (!server) co_return server.error();
  auto file = co_await client_file::open(client, *server, args.name, false, within(args));
  if (!file) co_return file.error();
  const auto about = co_await file->stat(within(args));
  std::vector<std::byte> bytes(about ? about->size : 0);
  const auto read = co_await file->read(bytes, 0, within(args));
  (co_await file->close(within(args))).ignore();
  if (!about) co_return about.error();
  if (!read) co_return read.error();
  bytes.resize(*read);
  co_return std::move(bytes);
}

int failed(const scoll::error& why) {
  fmt::print(stderr, "remote_file: {}\n", scoll::describe(why));
  return 1;
}

}  // namespace

int put(client_arguments args) {
  if (args.name.empty()) args.name = std::filesystem::path(args.file).filename();
  std::vector<std::byte> bytes(std::filesystem::file_size(args.file));
  std::ifstream from(args.file, std::ios::binary);
  if (!from.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    return failed({scoll::errc::io_error, "the file cannot be read"});
  client_node client;
  const auto written = client.run(store(client.node(), args, bytes));
  if (!written) return failed(written.error());
  fmt::print("{}: {} bytes\n", args.name, *written);
  return 0;
}

int get(client_arguments args) {
  if (args.file.empty()) args.file = args.name;
  client_node client;
  const auto bytes = client.run(fetch(client.node(), args));
  if (!bytes) return failed(bytes.error());
  std::ofstream into(args.file, std::ios::binary);
  into.write(reinterpret_cast<const char*>(bytes->data()), static_cast<std::streamsize>(bytes->size()));
  if (!into.flush()) return failed({scoll::errc::io_error, "the file cannot be written"});
  fmt::print("{}: {} bytes\n", args.file, bytes->size());
  return 0;
}

}  // namespace remote_file
