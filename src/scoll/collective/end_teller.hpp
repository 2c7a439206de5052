#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "scoll/collective/ending_groups.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// Tells members of the end of groups in the background, when `ending_groups` says so: a request to each,
/// from this node to the member, and a few at once. The requests need no place in the table of operations.
class engine::end_teller final {
 public:
  explicit end_teller(engine& owner) noexcept;
  ~end_teller() { stop(); }
  end_teller(const end_teller&) = delete;
  end_teller& operator=(const end_teller&) = delete;

  ending_groups& groups() noexcept { return groups_; }
  /// Keeps a group in a place that was reserved.
  void keep(ended_group group);
  void died(node_id node);
  void heard_of(node_id node);
  /// Forgets all groups. Nothing is under way when this returns.
  void stop() noexcept;

 private:
  struct telling final : transport::exchange {
    telling() noexcept : exchange(&on_answer) {}
    end_teller* owner = nullptr;
    ending_groups::turn turn;
    time_point until{};  ///< when it waits no longer
  };

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept;
  void on_timer() noexcept;
  void give_up_silent(time_point now) noexcept;
  void tell_due(time_point now) noexcept;
  void tell(telling& request, time_point now) noexcept;
  transport::message& make_request(const ending_groups::turn& turn);
  void rearm() noexcept;

  static constexpr std::size_t at_once = 8;
  engine& owner_;
  ending_groups groups_;
  std::array<telling, at_once> requests_;
  member_timer<&end_teller::on_timer> timer_{*this};
};

}  // namespace scoll::detail
