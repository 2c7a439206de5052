#pragma once

#include <cstdint>
#include <memory>

#include "scoll/collective/end_condition.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/rest_of_broadcast.hpp"

namespace scoll::detail {

class operation;
struct addressees;

/// Says why a broadcast to these members cannot end by this condition.
error why_no_condition(const end_condition& until, const addressees& to);

/// The condition by which the await of a broadcast ends before every member is settled, on its root. When it
/// holds, or cannot hold any more, the result is given out: status, value and account as they are then. The
/// operation goes on, and what it still hears settles members and is merged into nothing.
class broadcast_condition {
 public:
  broadcast_condition(operation& op, const bcast_options& options);

  bool given() const noexcept { return given_; }
  /// True if the result is to be given out now.
  bool is_decided();
  /// Runs `finish` and gives the result out, unless the operation has been ended meanwhile.
  task<void> give_out();
  /// True if the condition holds for what is in the account.
  bool holds() const { return prospect_of(counted()) == prospect::holds; }
  /// Tells whoever waits for the rest that the broadcast has ended.
  void end(const outcome& account);

  const status& given_status() const noexcept { return why_; }
  const outcome& given_account() const noexcept { return account_; }
  const std::shared_ptr<rest_of_broadcast>& rest() const noexcept { return rest_; }
  /// The reason why a reply that comes after the result is not merged.
  static error too_late() noexcept {
    return {errc::stale, "the reply came when the result had been given out"};
  }

 private:
  enum class prospect : std::uint8_t { open, holds, cannot };
  /// The merged members and those that are not settled, of those that count.
  struct tally {
    std::uint32_t merged = 0;
    std::uint32_t open = 0;
    std::uint32_t needed = 0;
  };
  tally counted() const;
  tally counted_in_sets(const outcome& account) const;
  static prospect prospect_of(const tally& t) noexcept;
  status status_of(const tally& t) const;

  operation& op_;
  end_condition until_;
  stragglers stragglers_;
  bool given_ = false;
  status why_;
  outcome account_;
  std::shared_ptr<rest_of_broadcast> rest_ = std::make_shared<rest_of_broadcast>();
};

}  // namespace scoll::detail
