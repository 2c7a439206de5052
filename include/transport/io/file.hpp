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

/// An open file or directory of a `file_system`, which must outlive it. Destroying it closes it, and a
/// failure of that close is not reported; synchronise first what must not be lost. Move-only. It must stay in
/// place while an operation on it is pending.
class file {
 public:
  file() noexcept = default;
  /// Takes over `fd`, which `files` has opened. `path` is used in the texts of errors.
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
  /// Gives up the ownership of the descriptor.
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  void abandon() noexcept {
    if (fd_ >= 0) files_->abandon_file(release());
  }

  file_system* files_ = nullptr;
  int fd_ = -1;
  std::string path_;
};

/// The file's size in bytes.
task<result<std::uint64_t>> file_size(const file& f, stop_token stop = {});

/// Writes all of `bytes`, in as many steps as it takes. After an error a part of them may have been written.
task<status> write_all(const file& f, std::span<const std::byte> bytes, std::uint64_t offset,
                       stop_token stop = {});

/// Reads until `into` is full or the file ends. The result is the number of bytes read.
task<result<std::size_t>> read_all(const file& f, std::span<std::byte> into, std::uint64_t offset,
                                   stop_token stop = {});

/// Reads a whole file. Errors: `too_large` if it has more than `most` bytes, `busy` if it grows while it is
/// read, `cancelled`, `io_error`.
task<result<std::vector<std::byte>>> read_file(file_system& files, std::string path, std::size_t most,
                                               stop_token stop = {});

/// Makes the names in a directory durable. Created, renamed and removed files survive a power failure only
/// after this call, even if the files themselves have been synchronised.
task<status> sync_directory(file_system& files, std::string path, stop_token stop = {});

/// Replaces a file's content, all or nothing: writes "<path>.new" beside it, synchronises that file, renames
/// it and synchronises the directory. After success the new content is durable. After an error, a
/// cancellation, or a crash at any point, the file has either its old or its new content. One call at a time
/// per path.
task<status> replace_file(file_system& files, std::string path, std::span<const std::byte> content,
                          stop_token stop = {});

/// Creates a directory and makes its name in its parent durable. It is no error if the directory exists
/// already.
task<status> ensure_directory(file_system& files, std::string path);

/// Makes an error about a file from `what` happened and the path; a long path loses its beginning.
error file_error(errc code, std::string_view what, std::string_view path);

/// True if an error says that there is no such file or directory.
bool no_such_file(const error& e) noexcept;

/// The directory that contains a path; "." for a plain name.
std::string parent_directory(const std::string& path);

}  // namespace scoll::transport
