#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/file.hpp"

namespace shard {

/// The data that a store keeps about an object: enough to find its file and to detect changes to it.
struct object_record {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;        ///< XXH3-64 of the content
  std::uint64_t generation = 0;  ///< counts the puts of this store; it is part of the file's name
};

/// The contents of an index file at the time it was read.
struct loaded_index {
  std::vector<object_record> records;  ///< oldest first; the last record of a name counts
  std::uint64_t good_bytes = 0;
  std::uint64_t torn_bytes = 0;  ///< bytes after the records: an append that a crash cut short
};

/// An append-only file of records, each with its length and checksum. An object is stored from the moment its
/// record is complete. One record at a time is written.
class index_log {
 public:
  /// Reads an index or creates an empty one, and cuts off an append that a crash left incomplete. After that
  /// the file is durable, including its name. The loop must live until all appends have returned.
  static scoll::task<scoll::result<index_log>> open(scoll::transport::file_system& files, std::string path,
                                                    loaded_index& index);

  /// With `durable` it waits until the record would survive a power failure. After an error, the record may
  /// or may not be there after the next start.
  scoll::task<scoll::status> append(const object_record& record, bool durable);

 private:
  index_log(scoll::transport::file file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  scoll::task<scoll::status> write_at_end(const std::vector<std::byte>& bytes, bool durable);

  scoll::transport::file file_;
  std::uint64_t size_;
  std::unique_ptr<scoll::semaphore> writing_ = std::make_unique<scoll::semaphore>(1);
};

}  // namespace shard
