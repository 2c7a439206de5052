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

/// What a store remembers of an object: enough to find its file and to tell whether it was altered.
struct object_record {
  std::string name;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;        ///< XXH3-64 of the content
  std::uint64_t generation = 0;  ///< counts the puts of this store; part of the file's name
};

/// What an index file held when it was read.
struct loaded_index {
  std::vector<object_record> records;  ///< oldest first; of one name, the last counts
  std::uint64_t good_bytes = 0;
  std::uint64_t torn_bytes = 0;  ///< were after them: an append that a crash cut short
};

/// A file of records, each with its length and checksum, to which one appends: an object is stored from the
/// moment its record is complete. One record at a time is written.
class index_log {
 public:
  /// Reads an index, or makes an empty one, and what a crash left incomplete is cut off. Then it is durable,
  /// name and all. The loop must live until all appends have returned.
  static scoll::task<scoll::result<index_log>> open(scoll::transport::file_system& files, std::string path,
                                                    loaded_index& index);

  /// `durable` waits until the record would survive a power failure. After an error it may be there after the
  /// next start, or not.
  scoll::task<scoll::status> append(const object_record& record, bool durable);

 private:
  index_log(scoll::transport::file file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  scoll::task<scoll::status> write_at_end(const std::vector<std::byte>& bytes, bool durable);

  scoll::transport::file file_;
  std::uint64_t size_;
  std::unique_ptr<scoll::semaphore> writing_ = std::make_unique<scoll::semaphore>(1);
};

}  // namespace shard
