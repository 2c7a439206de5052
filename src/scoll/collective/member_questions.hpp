#pragma once

#include <memory>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/offered_members.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// Questions who the members of a group are, which a node that has only heard of the group asks a member:
/// those that this node asks, and those that it answers. The answer is a creation of the group. It names
/// large memberships by a descriptor, which stays valid for `offer_time`.
class engine::member_questions final {
 public:
  explicit member_questions(engine& owner) noexcept : owner_(owner) {}
  ~member_questions();
  member_questions(const member_questions&) = delete;
  member_questions& operator=(const member_questions&) = delete;

  /// Asks one member. Only the form of its answer has been checked. Errors: those of the member
  /// (`unknown_group`, `not_member`, `busy`); `unreachable`; `deadline_exceeded`; `cancelled`; `malformed`.
  task<result<creation_section>> ask(group_id group, node_id member, stop_token stop);
  /// Answers such a question, or gives the reason why not.
  error answer(transport::request_view& request, const collective_head& head);
  /// Stops offering members.
  void stop() noexcept;

 private:
  struct question final : transport::exchange {
    question() noexcept : exchange(&on_answer) {}
    result<creation_section> heard = error(errc::cancelled, "the question was given up");
    event done;
  };
  struct offer {
    std::shared_ptr<offered_members> members;
    time_point until{};
  };

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept;
  result<std::size_t> encode(group_state& group, std::span<std::byte> into);
  error keep(std::shared_ptr<offered_members> members);
  void on_timer() noexcept;

  engine& owner_;
  std::vector<offer> offers_;  // the first to end first
  member_timer<&member_questions::on_timer> timer_{*this};
};

}  // namespace scoll::detail
