#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// The progress of one long operation on this server.
struct run_progress {
  std::uint64_t run = 0;
  std::uint64_t done = 0;   ///< objects; of an installation: 1 if the file is installed
  std::uint64_t total = 0;  ///< 0 until it is known
  std::uint64_t bytes = 0;
  std::uint64_t total_bytes = 0;  ///< of an installation, on its root: the bytes that all servers write
  std::optional<scoll::group_id> revocable;  ///< while it runs: the group that it can be revoked by
};

/// The recent long operations, by the number that their initiator gave them.
class progress_board {
 public:
  std::shared_ptr<run_progress> begin(std::uint64_t run) {
    if (recent_.size() == kept) recent_.pop_front();
    recent_.push_back(std::make_shared<run_progress>());
    recent_.back()->run = run;
    return recent_.back();
  }
  /// Likewise, for an operation that may have begun before.
  std::shared_ptr<run_progress> resume(std::uint64_t run) {
    for (const auto& each : recent_) {
      if (each->run == run) return each;
    }
    return begin(run);
  }
  /// Calls `fn(progress)` for each operation that runs and can be revoked.
  template <class Fn>
  void for_each_revocable(Fn fn) const {
    for (const auto& each : recent_) {
      if (each->revocable) fn(*each);
    }
  }
  const run_progress* find(std::uint64_t run) const noexcept {
    for (const auto& each : recent_) {
      if (each->run == run) return each.get();
    }
    return nullptr;
  }

 private:
  static constexpr std::size_t kept = 64;
  std::deque<std::shared_ptr<run_progress>> recent_;
};

/// Asks for the progress of all servers while they work.
struct progress {
  static constexpr scoll::service_id id = ids::progress;
  static constexpr std::uint16_t version = 1;
  static constexpr std::string_view name = "progress";
  struct request {
    std::uint64_t run = 0;
  };
  struct reply {
    scoll::sum<std::uint64_t> done;
    scoll::sum<std::uint64_t> total;
    scoll::sum<std::uint64_t> bytes;
    scoll::sum<std::uint64_t> total_bytes;
  };

  const progress_board* board;

  reply execute(const request& asked, scoll::bcast_context&) const {
    reply mine;
    if (const run_progress* run = board->find(asked.run)) {
      mine.done.value = run->done;
      mine.total.value = run->total;
      mine.bytes.value = run->bytes;
      mine.total_bytes.value = run->total_bytes;
    }
    return mine;
  }
};

}  // namespace shard
