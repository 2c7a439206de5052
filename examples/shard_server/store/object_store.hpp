#pragma once

#include <bitset>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "chunk_pool.hpp"
#include "coro/result.hpp"
#include "coro/task.hpp"
#include "index_log.hpp"
#include "transport/reactor.hpp"
#include "transport/socket.hpp"

namespace shard {

/// An object that is being written. Unless it is committed, its file is removed with it. Move-only.
class new_object {
 public:
  new_object(object_record record, std::string file, scoll::transport::unique_fd fd)
      : record_(std::move(record)), file_(std::move(file)), fd_(std::move(fd)) {}
  new_object(new_object&&) noexcept = default;
  new_object& operator=(new_object&&) = delete;
  ~new_object();

  const object_record& record() const noexcept { return record_; }

 private:
  friend class object_store;
  object_record record_;
  std::string file_;
  scoll::transport::unique_fd fd_;
};

/// Whether a commit waits for the disk.
enum class durability { page_cache, disk };

/// One server's objects: real files below FOLDER/objects, and FOLDER/index.log, which says which of them
/// count. A put writes a file of a new name and then appends to the index; so a crash at any point leaves the
/// old object or the new one, and at the next start files that nobody refers to are removed. All I/O after
/// `open` goes through the engine. One thread; must outlive what it returns.
class object_store {
 public:
  /// Blocking: reads the index. Errors: `busy` (another server uses the folder), `io_error`.
  static scoll::result<std::unique_ptr<object_store>> open(scoll::transport::file_engine& files,
                                                           const std::filesystem::path& folder);

  std::uint64_t objects() const noexcept { return objects_.size(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Bytes of the index that a crash had left incomplete, and files that nobody referred to, at the start.
  std::uint64_t torn_index_bytes() const noexcept { return torn_bytes_; }
  std::uint64_t orphans_removed() const noexcept { return orphans_; }

  /// Null if there is none. Valid until the object is put again.
  const object_record* find(std::string_view name) const;
  /// The first object after a name, in the order of names; "" comes before all. For walks that pause.
  const object_record* next(std::string_view after) const;
  std::string file_of(const object_record& record) const;

  scoll::task<scoll::result<new_object>> create(std::string name);
  /// Appends to an object's content.
  scoll::task<scoll::status> write(new_object& object, std::span<const std::byte> bytes);
  /// Makes it the object of its name.
  scoll::task<scoll::status> commit(new_object& object, std::uint64_t hash, durability how);

  scoll::task<scoll::result<scoll::transport::unique_fd>> open_to_read(const object_record& record,
                                                                       scoll::stop_token stop);

  scoll::transport::file_engine& files() noexcept { return files_; }
  chunk_pool& chunks() noexcept { return chunks_; }

 private:
  static constexpr std::size_t chunks_at_once = 8;

  object_store(scoll::transport::file_engine& files, std::filesystem::path folder, loaded_index index,
               scoll::transport::unique_fd log);
  void remember(object_record record);
  void remove_orphans();
  scoll::task<scoll::status> need_subfolder(std::uint8_t number);
  scoll::task<scoll::status> sync_folder(std::filesystem::path folder);

  scoll::transport::file_engine& files_;
  std::filesystem::path folder_;
  std::map<std::string, object_record, std::less<>> objects_;
  std::uint64_t bytes_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t torn_bytes_ = 0;
  std::uint64_t orphans_ = 0;
  std::bitset<256> subfolders_;
  index_log log_;
  chunk_pool chunks_{chunks_at_once};
};

}  // namespace shard
