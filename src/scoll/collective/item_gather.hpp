#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scoll/collective/item_part.hpp"
#include "scoll/collective/item_run.hpp"
#include "scoll/collective/reply_memory.hpp"
#include "scoll/collective/subset.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/broadcast.hpp"
#include "scoll/detail/item_reader.hpp"

namespace scoll::detail {

class reply_stream;
struct operation_subject;

/// The items that have come to the root and have not been read, and in the end the status and the outcome. The
/// reader and the broadcast share it, so that neither has to wait for the other's end.
class item_gather final : public item_reader {
 public:
  item_gather(const any_group& to, const service_table& table, const void* request,
              const bcast_options& options);
  ~item_gather() override;

  std::optional<raw_item> take() override;
  bool is_over() const noexcept override { return ended_ && queue_.empty(); }
  void wait(item_waiter& who, std::coroutine_handle<> handle) noexcept override;
  void lose(std::uint32_t rank, const error& why) override;
  void end_early() noexcept override;
  void give_up() noexcept override;
  const status& how() const noexcept override { return how_; }
  const outcome& account() const noexcept override { return account_; }

  // The side of the broadcast.

  /// Lives as long as the broadcast runs.
  static task<void> run(std::shared_ptr<item_gather> self);
  /// The items come from there from now on, until `detach`.
  void attach(reply_stream& from, const operation_subject& subject);
  void detach() noexcept { from_ = nullptr; }
  void deliver(item_part&& part);
  /// The broadcast ends, and leaves the memory to this object that is set aside for the parts which have not been
  /// read.
  void hold(reply_memory& of, std::size_t bytes) noexcept;

 private:
  struct loss {
    std::uint32_t rank = 0;
    error why;
  };

  void end(const status& how, outcome account);
  void settle(const loss& lost);
  bool next_run();
  void drop_front() noexcept;
  void give_back() noexcept;
  void wake() noexcept;
  std::uint32_t rank_at(std::uint32_t relative) const noexcept;
  bool is_lost(std::uint32_t rank) const noexcept;

  executor* executor_ = nullptr;
  std::optional<broadcast> broadcast_;
  std::uint32_t root_ = 0;     // its index among the members
  std::uint32_t members_ = 0;  // that the broadcast is for
  subset_ptr subset_;
  reply_stream* from_ = nullptr;
  std::deque<item_part> queue_;
  std::size_t position_ = 0;  // behind the present run, in the payload of the first part
  item_run run_;
  std::uint32_t rank_ = 0;  // of the present run
  std::vector<loss> lost_;
  item_waiter* waiting_ = nullptr;
  reply_memory* memory_ = nullptr;
  std::size_t held_ = 0;  // of that memory
  status how_;
  outcome account_;
  bool ended_ = false;
  bool given_up_ = false;
};

}  // namespace scoll::detail
