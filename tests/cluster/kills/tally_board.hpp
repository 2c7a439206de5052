#pragma once

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "scoll/collective/outcome.hpp"
#include "scoll/coro/error.hpp"

namespace scoll::test {

/// What processes have done in a storm of broadcasts, and what their root was told of it. All processes
/// write into the same memory, so that one that is killed has told of everything that it did.
struct tally_board {
  static constexpr std::size_t most_members = 16, most_broadcasts = 2048;

  /// How often one process has begun and ended the work of one broadcast, over all of its lives.
  struct deeds {
    std::atomic<std::uint8_t> begun{0}, ended{0};
  };
  /// What the root was told of one broadcast. It may be read when `is_there`.
  struct account {
    std::atomic<bool> is_there{false};
    bool ok = false;
    errc code = errc::ok;
    std::uint32_t value = 0;  ///< how many members are in the value
    std::int64_t took_ns = 0;
    std::array<member_state, most_members> states{};
    std::array<phase, most_members> phases{};
    std::array<errc, most_members> causes{};
    char text[256] = {};
  };
  /// How the root broadcasts. Whoever orders the storm sets this.
  struct plan {
    std::uint32_t storm = 0;  ///< its number
    std::uint32_t members = 0;
    std::uint32_t at_once = 1;
    std::uint32_t work_us = 0;      ///< of each member, in each broadcast
    std::uint32_t deadline_ms = 0;  ///< 0: none
  };

  plan how;
  std::atomic<std::uint32_t> broadcasts{0};   ///< that have begun
  std::atomic<std::uint32_t> losses{0};       ///< accounts that tell of a loss
  std::atomic<std::uint32_t> rounds{0};       ///< further rounds, of all broadcasts
  std::atomic<std::uint32_t> strays{0};       ///< executions of broadcasts of an earlier storm
  std::atomic<std::uint32_t> late_groups{0};  ///< attempts to make a group that came before all were there
  std::array<std::array<deeds, most_members>, most_broadcasts> done{};
  std::array<account, most_broadcasts> accounts{};

  /// Begins a storm. No process may be broadcasting.
  void begin(plan next) {
    next.storm = how.storm + 1;
    how = next;
    for (std::uint32_t i = 0; i < broadcasts; ++i) {
      for (deeds& each : done[i]) each.begun = each.ended = 0;
      accounts[i].is_there = false;
    }
    broadcasts = losses = rounds = 0;
  }
};

/// A board in memory that forked processes share.
class shared_board {
 public:
  shared_board() {
    void* const place =
        mmap(nullptr, sizeof(tally_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (place == MAP_FAILED) throw std::bad_alloc();
    board_ = new (place) tally_board;
  }
  ~shared_board() { munmap(board_, sizeof(tally_board)); }
  shared_board(const shared_board&) = delete;
  shared_board& operator=(const shared_board&) = delete;

  tally_board& get() noexcept { return *board_; }

 private:
  tally_board* board_;
};

}  // namespace scoll::test
