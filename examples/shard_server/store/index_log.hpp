#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "coro/result.hpp"
#include "coro/semaphore.hpp"
#include "coro/task.hpp"
#include "transport/reactor.hpp"
#include "transport/socket.hpp"

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
  std::uint64_t torn_bytes = 0;  ///< after them: an append that a crash cut short
};

/// Reads an index file; one that does not exist is empty. Blocking: for the start of a server.
scoll::result<loaded_index> load_index(const std::filesystem::path& file);

/// A file of records, each with its length and checksum, to which one appends: an object is stored from the
/// moment its record is complete. One record at a time is written.
class index_log {
 public:
  /// `size`: where to go on. Both the engine and this must live until all appends have returned.
  index_log(scoll::transport::file_engine& files, scoll::transport::unique_fd file, std::uint64_t size)
      : files_(files), file_(std::move(file)), size_(size) {}

  /// `durable` waits until the record would survive a power failure. After an error nothing was appended.
  scoll::task<scoll::status> append(const object_record& record, bool durable);

 private:
  scoll::task<scoll::status> write_at_end(const std::vector<std::byte>& bytes, bool durable);

  scoll::transport::file_engine& files_;
  scoll::transport::unique_fd file_;
  std::uint64_t size_;
  scoll::semaphore writing_{1};
};

}  // namespace shard
