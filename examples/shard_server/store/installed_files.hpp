#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "content_hash.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/file.hpp"

namespace shard {

/// A valid name is the name of a file: 1 to 128 letters, digits and "._-+=,@", and no dot at the beginning.
/// Otherwise the error is `invalid_argument` and says what is wrong.
scoll::status check_installed_name(std::string_view name);

/// A file that is being received. Unless it is committed, somebody has to remove it; else the next start does.
class incoming_file {
 public:
  incoming_file(std::string name, scoll::transport::file file)
      : name_(std::move(name)), file_(std::move(file)) {}

  const std::string& name() const noexcept { return name_; }
  std::uint64_t size() const noexcept { return size_; }
  /// XXH3-64 of what was written.
  std::uint64_t hash() const { return hash_.value(); }
  /// For reading; it stays open until it is destroyed or committed.
  const scoll::transport::file& file() const noexcept { return file_; }

 private:
  friend class installed_files;
  std::string name_;
  scoll::transport::file file_;
  std::uint64_t size_ = 0;
  content_hash hash_;
};

/// The files that every server has: FOLDER/installed/NAME. One that is being received lies in FOLDER/incoming
/// and is renamed when it is complete. A crash at any point therefore leaves the old file or the new one; the
/// next start empties FOLDER/incoming. Use it on one thread. It must outlive the files that it returns.
class installed_files {
 public:
  /// The folder must exist and must not be used by anybody else. Errors: `io_error`.
  static scoll::task<scoll::result<std::unique_ptr<installed_files>>> open(
      scoll::transport::file_system& files, std::string folder);

  /// The number of files that the start found half received, and removed.
  std::uint64_t leftovers_removed() const noexcept { return leftovers_; }
  std::string path_of(std::string_view name) const;

  /// Begins a file. Any number of files of one name may be received at once; the last commit counts.
  scoll::task<scoll::result<incoming_file>> create(std::string name);
  /// Appends to a file, and hashes on this thread. After an error the file can only be removed.
  scoll::task<scoll::status> write(incoming_file& into, std::span<const std::byte> bytes);
  /// Gives the file its name in the place of the one that has it. What was committed survives a loss of power.
  /// Errors: `checksum_mismatch` (what was written does not have that size and hash; nothing has changed),
  /// `io_error`. After an `io_error`, the next start decides which of the two files it is.
  scoll::task<scoll::status> commit(incoming_file& whole, std::uint64_t size, std::uint64_t hash);
  /// Removes a file that is not wanted. One that cannot be removed does no harm.
  scoll::task<void> remove(std::shared_ptr<incoming_file> unwanted);

  scoll::transport::file_system& files() noexcept { return files_; }

 private:
  installed_files(scoll::transport::file_system& files, std::string folder)
      : files_(files), folder_(std::move(folder)) {}
  std::string installed_folder() const { return folder_ + "/installed"; }
  std::string incoming_folder() const { return folder_ + "/incoming"; }
  scoll::task<scoll::status> prepare_folders();

  scoll::transport::file_system& files_;
  std::string folder_;
  std::uint64_t leftovers_ = 0;
  std::uint64_t created_ = 0;  // numbers the files that this process has begun
};

}  // namespace shard
