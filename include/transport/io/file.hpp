#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/reactor.hpp"

namespace scoll::transport {

/// An open file, or directory, of a `file_system`, which must outlive it. Closed when destroyed, and then
/// nobody hears of a failure; what must not be lost is synchronised first. Move-only. While an operation on
/// it is pending it must stay in place.
class file {
 public:
  file() noexcept = default;
  /// Takes over `fd`, which is the files's; `path` is for the texts of errors.
  file(file_system& files, int fd, std::string path) noexcept
      : files_(&files), fd_(fd), path_(std::move(path)) {}
  file(file&& other) noexcept : files_(other.files_), fd_(other.release()), path_(std::move(other.path_)) {}
  file& operator=(file&& other) noexcept {
    if (this == &other) return *this;
    abandon();
    files_ = other.files_;
    fd_ = other.release();
    path_ = std::move(other.path_);
    return *this;
  }
  ~file() { abandon(); }

  explicit operator bool() const noexcept { return fd_ >= 0; }
  file_system& system() const noexcept { return *files_; }
  int fd() const noexcept { return fd_; }
  const std::string& path() const noexcept { return path_; }
  /// Gives the descriptor away.
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  void abandon() noexcept {
    if (fd_ >= 0) files_->abandon_file(release());
  }

  file_system* files_ = nullptr;
  int fd_ = -1;
  std::string path_;
};

/// Bytes in it.
task<result<std::uint64_t>> file_size(const file& f, stop_token stop = {});

/// Writes all of `bytes`, in as many steps as it takes. After an error a part of them may have been written.
task<status> write_all(const file& f, std::span<const std::byte> bytes, std::uint64_t offset,
                       stop_token stop = {});

/// Reads until `into` is full or the file ends; gives how much that was.
task<result<std::size_t>> read_all(const file& f, std::span<std::byte> into, std::uint64_t offset,
                                   stop_token stop = {});

/// All of a file. Errors: `too_large` if it has more than `most` bytes, `io_error`.
task<result<std::vector<std::byte>>> read_file(file_system& files, std::string path, std::size_t most,
                                               stop_token stop = {});

/// Makes the names in a directory durable: created, renamed and removed files survive a power failure only
/// after it, whatever was done to the files themselves.
task<status> sync_directory(file_system& files, std::string path, stop_token stop = {});

/// Gives a file new content, all or nothing: writes "<path>.new" beside it, synchronises it, renames it and
/// synchronises the directory. When this has succeeded the new content is durable; after an error, or a crash
/// at any point, it is the old or the new one. One at a time per path.
task<status> replace_file(file_system& files, std::string path, std::span<const std::byte> content,
                          stop_token stop = {});

/// Makes a directory and its name in its parent durable. One that exists already is fine.
task<status> ensure_directory(file_system& files, std::string path);

/// An error about a file: `what`, and its path, of which the end is kept if it is long.
error file_error(errc code, std::string_view what, std::string_view path);

/// Whether an error says that there is no such file or directory.
bool no_such_file(const error& e) noexcept;

/// The directory that a path is in: "." for a name alone.
std::string parent_directory(const std::string& path);

}  // namespace scoll::transport
