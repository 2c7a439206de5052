#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "chunk_pool.hpp"
#include "index_log.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/file.hpp"

namespace shard {

class object_store;

/// An object that is being written. Unless it is committed, the store removes its file in its next `create`.
/// Move-only.
class new_object {
 public:
  new_object(object_store& store, object_record record, scoll::transport::file file)
      : store_(&store), record_(std::move(record)), file_(std::move(file)) {}
  new_object(new_object&& other) noexcept
      : store_(std::exchange(other.store_, nullptr)),
        record_(std::move(other.record_)),
        file_(std::move(other.file_)) {}
  new_object& operator=(new_object&&) = delete;
  ~new_object();

  const object_record& record() const noexcept { return record_; }

 private:
  friend class object_store;
  object_store* store_;  // null: there is nothing to remove
  object_record record_;
  scoll::transport::file file_;
};

/// Decides if a commit waits for the disk.
enum class durability { page_cache, disk };

/// The objects of one server: files below FOLDER/objects, and FOLDER/index.log, which says which of them
/// count. A put writes a file with a new name and then appends to the index. A crash at any point therefore
/// leaves the old object or the new one; the next start removes files that no record refers to. Use it on one
/// thread. It must outlive the objects it returns.
class object_store {
 public:
  /// Reads the index. The folder must exist and must not be used by anybody else (`folder_lock`). Errors:
  /// `io_error`.
  static scoll::task<scoll::result<std::unique_ptr<object_store>>> open(scoll::transport::file_system& files,
                                                                        std::string folder);

  std::uint64_t objects() const noexcept { return objects_.size(); }
  std::uint64_t bytes() const noexcept { return bytes_; }
  const std::string& folder() const noexcept { return folder_; }
  /// Both figures are from the start: bytes of the index that a crash had left incomplete, and files that no
  /// record referred to.
  std::uint64_t torn_index_bytes() const noexcept { return torn_bytes_; }
  std::uint64_t orphans_removed() const noexcept { return orphans_; }

  /// Returns null if there is no such object. The pointer is valid until the object is put again.
  const object_record* find(std::string_view name) const;
  /// Returns the first object after a name, in the order of names; "" comes before all. For walks that pause.
  const object_record* next(std::string_view after) const;
  std::string file_of(const object_record& record) const;

  scoll::task<scoll::result<new_object>> create(std::string name);
  /// Appends to an object's content.
  scoll::task<scoll::status> write(new_object& object, std::span<const std::byte> bytes);
  /// Makes the file the object of its name. A commit that replaces an object always waits for the disk, so
  /// that a power failure loses nothing that was safe. After an error, the next start decides which of the
  /// two objects it is.
  scoll::task<scoll::status> commit(new_object& object, std::uint64_t hash, durability how);

  scoll::task<scoll::result<scoll::transport::file>> open_to_read(const object_record& record,
                                                                  scoll::stop_token stop);

  scoll::transport::file_system& files() noexcept { return files_; }
  chunk_pool& chunks() noexcept { return chunks_; }

 private:
  static constexpr std::size_t chunks_at_once = 8;

  friend class new_object;

  object_store(scoll::transport::file_system& files, std::string folder, loaded_index index, index_log log);
  void remember(object_record record);
  std::string objects_folder() const { return folder_ + "/objects"; }
  scoll::task<scoll::status> remove_orphans();
  scoll::task<scoll::status> remove_orphans_of(std::string subfolder, const std::set<std::string>& kept);
  scoll::task<void> remove_abandoned();
  scoll::task<scoll::status> need_subfolder(std::uint8_t number);

  scoll::transport::file_system& files_;
  std::string folder_;
  std::map<std::string, object_record, std::less<>> objects_;
  std::uint64_t bytes_ = 0;
  std::uint64_t generation_ = 0;
  std::uint64_t torn_bytes_ = 0;
  std::uint64_t orphans_ = 0;
  std::bitset<256> subfolders_;
  std::vector<std::string> abandoned_;  // files of abandoned uploads, to be removed
  index_log log_;
  chunk_pool chunks_{chunks_at_once};
};

}  // namespace shard
