#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "scoll/collective.hpp"
#include "scoll/ship.hpp"

/// Work that goes round a ring of servers: each pulls a block from the server before it, adds its own part, and
/// keeps it until the next server has pulled it. The first server makes the blocks and takes them back from the
/// last one.
namespace plan_b {

struct block {
  std::uint64_t number = 0;
  std::uint64_t sum = 0;  ///< of the ids of the servers that it has passed
};

struct pull_request {
  std::uint64_t plan = 0;  ///< 0: plan A; 1: plan B, and so on
  std::uint64_t number = 0;
};

inline constexpr scoll::remote_function<pull_request, block> pull{"plan_b.pull"};

/// Tells the members of a ring to begin, and later that all blocks are back.
struct control {
  static constexpr scoll::service_id id{0x0160};
  static constexpr std::string_view name = "ring";
  struct request {
    scoll::group_id ring;
    bool over = false;
  };
  scoll::status execute(const request& asked, scoll::bcast_context&) const {
    on_request(asked);
    return {};
  }
  std::function<void(const request&)> on_request;
};

using ring_group = scoll::group<control>;

/// The part of one server in the ring. It must outlive its tasks.
class ring {
 public:
  /// The number of blocks that may be under way at once.
  static constexpr std::uint64_t window = 16;

  /// `on_block` hears of each block that this server has finished.
  ring(scoll::node& on, scoll::nanoseconds pull_deadline, std::function<void(std::uint64_t)> on_block);

  /// Passes the blocks from `first` up to `end` round the ring of `g`. Every pull is made through the group, so
  /// a revoke of it ends the run at once.
  scoll::task<scoll::status> run(const ring_group& g, std::uint64_t plan, std::uint64_t first,
                                 std::uint64_t end);

  /// The number of blocks that this server has finished.
  std::uint64_t finished() const noexcept { return finished_; }

 private:
  scoll::task<scoll::result<block>> give(const pull_request& asked, scoll::stop_token stop);
  scoll::task<scoll::result<block>> pull_from(const ring_group& g, std::uint32_t rank, std::uint64_t plan,
                                              std::uint64_t number);
  scoll::task<scoll::status> take_back(const ring_group& g, std::uint64_t plan, std::uint64_t number);
  void publish(const block& made);

  scoll::node& node_;
  scoll::nanoseconds pull_deadline_;
  std::function<void(std::uint64_t)> on_block_;
  std::uint64_t plan_ = 0;
  std::uint64_t finished_ = 0;
  std::map<std::uint64_t, block> ready_;  // by number: the latest ones, for the next server
  scoll::event changed_;
};

/// The sum that a block has when it comes back.
std::uint64_t expected_sum(const ring_group& g);

/// The ids of the members: "1 2 3 5".
std::string names_of(const ring_group& g);

}  // namespace plan_b
