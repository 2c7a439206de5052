#include "transport/io/file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/io/io_awaitables.hpp"

namespace scoll::transport {

error file_error(errc code, std::string_view what, std::string_view path) {
  constexpr std::string_view cut = "...";
  std::string text(what);
  if (!path.empty()) text += ' ';
  const std::size_t room = error::text_capacity - std::min(error::text_capacity, text.size() + cut.size());
  if (text.size() + path.size() > error::text_capacity && path.size() > room) {
    text += cut;
    path.remove_prefix(path.size() - room);
  }
  text += path;
  return {code, text};
}

bool no_such_file(const error& e) noexcept {
  return e.domain() == error_domain::system && e.detail() == ENOENT;
}

std::string parent_directory(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');  // "a/b/" is treated as "a/b"
  if (end == std::string::npos) return path.empty() ? "." : "/";
  const std::size_t slash = path.find_last_of('/', end);
  if (slash == std::string::npos) return ".";
  const std::size_t kept = path.find_last_not_of('/', slash);
  return kept == std::string::npos ? "/" : path.substr(0, kept + 1);
}

task<result<std::uint64_t>> file_size(const file& f, stop_token stop) {
  struct statx about;
  std::memset(&about, 0, sizeof about);
  const auto looked = co_await async_stat(f, about, stop);
  if (!looked) co_return looked.error();
  co_return std::uint64_t{about.stx_size};
}

task<status> write_all(const file& f, std::span<const std::byte> bytes, std::uint64_t offset,
                       stop_token stop) {
  while (!bytes.empty()) {
    const auto n = co_await async_write(f, bytes, offset, stop);
    if (!n) co_return n.error();
    if (*n == 0) co_return detail::io_failure(ENOSPC, "write", f.path().c_str());
    bytes = bytes.subspan(*n);
    offset += *n;
  }
  co_return status{};
}

task<result<std::size_t>> read_all(const file& f, std::span<std::byte> into, std::uint64_t offset,
                                   stop_token stop) {
  std::size_t read = 0;
  while (read != into.size()) {
    const auto n = co_await async_read(f, into.subspan(read), offset + read, stop);
    if (!n) co_return n.error();
    if (*n == 0) break;
    read += *n;
  }
  co_return read;
}

task<result<std::vector<std::byte>>> read_file(file_system& files, std::string path, std::size_t most,
                                               stop_token stop) {
  const auto opened = co_await async_open(files, path.c_str(), O_RDONLY | O_CLOEXEC, 0, stop);
  if (!opened) co_return opened.error();
  const auto size = co_await file_size(*opened, stop);
  if (!size) co_return size.error();
  // Ask for one byte more than expected, so that a file that grows meanwhile is not taken for complete.
  const std::size_t wanted = static_cast<std::size_t>(std::min<std::uint64_t>(*size, most)) + 1;
  std::vector<std::byte> content(wanted);
  const auto n = co_await read_all(*opened, content, 0, stop);
  if (!n) co_return n.error();
  if (*n > most) co_return file_error(errc::too_large, "too large:", path);
  if (*n == wanted) co_return file_error(errc::busy, "grows while it is read:", path);
  content.resize(*n);
  co_return content;
}

task<status> sync_directory(file_system& files, std::string path, stop_token stop) {
  const auto opened = co_await async_open(files, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0, stop);
  if (!opened) co_return opened.error();
  co_return co_await async_sync(*opened, stop);
}

namespace {

task<status> write_durably(file_system& files, const std::string& path, std::span<const std::byte> content,
                           stop_token stop) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
  auto opened = co_await async_open(files, path.c_str(), flags, 0600, stop);
  if (!opened) co_return opened.error();
  const auto written = co_await write_all(*opened, content, 0, stop);
  if (!written) co_return written;
  const auto synced = co_await async_sync(*opened, stop);
  if (!synced) co_return synced;
  co_return co_await async_close(*opened);
}

}  // namespace

task<status> replace_file(file_system& files, std::string path, std::span<const std::byte> content,
                          stop_token stop) {
  const std::string beside = path + ".new";
  const auto written = co_await write_durably(files, beside, content, stop);
  if (!written) co_return written;
  const auto renamed = co_await async_rename(files, beside.c_str(), path.c_str(), stop);
  if (!renamed) co_return renamed;
  co_return co_await sync_directory(files, parent_directory(path));
}

task<status> ensure_directory(file_system& files, std::string path) {
  const auto made = co_await async_make_directory(files, path.c_str(), 0700);
  if (!made && made.error().detail() != EEXIST) co_return made;
  co_return co_await sync_directory(files, parent_directory(path));
}

}  // namespace scoll::transport
