#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "scoll/coro/result.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/ids.hpp"
#include "transport/io/file.hpp"

namespace shard {

/// Why a client is evicted.
struct eviction {
  std::uint64_t by = 0;  ///< the server that was asked to
  std::string note;
  friend bool operator==(const eviction&, const eviction&) = default;
};

/// The clients that one server refuses, in the file FOLDER/evicted, which is replaced as a whole. Use it on one
/// thread.
class eviction_list {
 public:
  static constexpr std::size_t most = 1024;
  static constexpr std::size_t longest_note = 64;

  /// Reads the list; without a file it is empty. Errors: `checksum_mismatch` (naming the damaged file; a server
  /// that has forgotten whom it must refuse must not serve), `io_error`.
  static scoll::task<scoll::result<std::unique_ptr<eviction_list>>> open(scoll::transport::file_system& files,
                                                                         const std::string& folder);

  /// Null if the client is not evicted.
  const eviction* find(scoll::node_id client) const noexcept;
  const std::map<scoll::node_id, eviction>& all() const noexcept { return evicted_; }

  /// From here on `find` finds the client; after success the next life of the server does, too. Errors: `busy`
  /// (so many are evicted already; nothing is changed), `io_error` (the eviction ends with this process, unless
  /// the disk has it all the same).
  scoll::task<scoll::status> add(scoll::node_id client, eviction why);
  /// Takes a client from the list when the disk says so, too. Errors: `io_error` (it stays evicted). It is no
  /// error if the client is not evicted.
  scoll::task<scoll::status> remove(scoll::node_id client);

 private:
  eviction_list(scoll::transport::file_system& files, std::string path)
      : files_(&files), path_(std::move(path)) {}
  scoll::task<scoll::status> keep(std::map<scoll::node_id, eviction> list);

  scoll::transport::file_system* files_;
  std::string path_;
  std::map<scoll::node_id, eviction> evicted_;
  scoll::semaphore changing_{1};
};

}  // namespace shard
