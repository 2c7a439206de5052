#include "server.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "scoll/bulk/bulk.hpp"
#include "scoll/bulk/stream.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/io_awaitables.hpp"

namespace remote_file {

using namespace scoll;

server::server(node& on, transport::file_system& files, std::string directory)
    : node_(on), files_(files), directory_(std::move(directory)) {
  on.serve(open_file, [this](const open_request& r, call_context& call) {
      return open(r, call.stop());
    }).value();
  on.serve(read_file, [this](const transfer_request& r, call_context& call) {
      return read(r, call.stop());
    }).value();
  on.serve(write_file, [this](const transfer_request& r, call_context& call) {
      return write(r, call.stop());
    }).value();
  on.serve(stat_file, [this](const std::uint64_t& handle, call_context& call) {
      return stat(handle, call.stop());
    }).value();
  on.serve(close_file, [this](const std::uint64_t& handle, call_context&) -> status {
      return open_.erase(handle) == 1 ? status{} : error(errc::not_found, "no such file is open");
    }).value();
}

task<result<opened>> server::open(const open_request& r, stop_token stop) {
  if (r.name.empty() || r.name.find('/') != std::string::npos || r.name.starts_with('.')) {
    co_return error(errc::invalid_argument, "a name without slashes that does not begin with a dot, please");
  }
  if (open_.size() >= most_open) co_return error(errc::busy, "too many files are open");
  const std::string path = directory_ + "/" + r.name;
  const int flags = O_RDWR | O_CLOEXEC | (r.create ? O_CREAT : 0);
  auto f = co_await transport::async_open(files_, path.c_str(), flags, 0644, stop);
  if (!f) co_return f.error();
  opened o;
  o.handle = next_handle_++;
  open_[o.handle] = std::make_shared<transport::file>(std::move(*f));
  co_return o;
}

/// Writes chunk by chunk, so that no transfer takes much memory. While one chunk is written, the next ones
/// arrive.
task<result<transferred>> server::write(const transfer_request& r, stop_token stop) {
  const auto f = find(r.handle);  // a copy, because the file may be closed meanwhile
  if (!f) co_return f.error();
  bulk_stream chunks(node_, r.data, {.stop = stop, .chunk_bytes = chunk_bytes});
  transferred t;
  while (true) {
    const auto chunk = co_await chunks.next();
    if (!chunk) co_return chunk.error();
    if (chunk->empty()) break;
    const status written = co_await transport::write_all(**f, *chunk, r.offset + t.bytes, stop);
    if (!written) co_return written.error();
    t.bytes = chunks.position();
  }
  co_return t;
}

task<result<transferred>> server::read(const transfer_request& r, stop_token stop) {
  const auto f = find(r.handle);
  if (!f) co_return f.error();
  std::vector<std::byte> buffer(std::min<std::uint64_t>(r.data.length, chunk_bytes));
  const transfer_options options{.stop = stop};
  transferred t;
  while (t.bytes < r.data.length) {
    const std::size_t size = std::min<std::uint64_t>(r.data.length - t.bytes, buffer.size());
    const auto got =
        co_await transport::read_all(**f, std::span(buffer).first(size), r.offset + t.bytes, stop);
    if (!got) co_return got.error();
    const auto pushed = co_await push(node_, r.data, t.bytes, std::span(buffer).first(*got), options);
    if (!pushed) co_return pushed.error();
    t.bytes += *got;
    if (*got < size) break;  // the file has ended
  }
  co_return t;
}

task<result<attributes>> server::stat(std::uint64_t handle, stop_token stop) {
  const auto f = find(handle);
  if (!f) co_return f.error();
  const auto size = co_await transport::file_size(**f, stop);
  if (!size) co_return size.error();
  attributes a;
  a.size = *size;
  co_return a;
}

result<server::open_file_ptr> server::find(std::uint64_t handle) const {
  const auto found = open_.find(handle);
  if (found == open_.end()) return make_error(errc::not_found, "no file is open as {}", handle);
  return found->second;
}

}  // namespace remote_file
