#pragma once

#include <string>

#include "epoch_state.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/file.hpp"

namespace shard {

/// Where a server keeps its `epoch_state`.
class epoch_store {
 public:
  virtual ~epoch_store() = default;

  /// Gives the state that was kept last; that of a new server if there is none.
  virtual scoll::task<scoll::result<epoch_state>> load() = 0;
  /// Replaces the state. After success the new one survives a loss of power. After an error, the next `load`
  /// gives the old state or the new one. One call at a time.
  virtual scoll::task<scoll::status> keep(const epoch_state& state) = 0;
};

/// The file FOLDER/epoch, which is replaced as a whole: its length and its XXH3, then the state.
class epoch_file final : public epoch_store {
 public:
  epoch_file(scoll::transport::file_system& files, const std::string& folder)
      : files_(files), folder_(folder), path_(folder + "/epoch") {}

  /// Writes the state of a new server. Errors: `checksum_mismatch` (naming the damaged file; a server that has
  /// forgotten its vote must not vote), `not_found` (the file is missing, although the folder has an
  /// incarnation), `io_error`.
  scoll::task<scoll::result<epoch_state>> load() override;
  scoll::task<scoll::status> keep(const epoch_state& state) override;

 private:
  scoll::task<scoll::result<epoch_state>> begin();

  scoll::transport::file_system& files_;
  std::string folder_;
  std::string path_;
};

}  // namespace shard
