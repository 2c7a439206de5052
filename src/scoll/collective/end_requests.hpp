#pragma once

#include <list>
#include <memory>
#include <optional>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// The requests by which a member asks the creator of a group to end it: those that this node has sent, and
/// those that it serves.
class engine::end_requests final {
 public:
  explicit end_requests(engine& owner) noexcept : owner_(owner) {}
  ~end_requests() { stop(); }
  end_requests(const end_requests&) = delete;
  end_requests& operator=(const end_requests&) = delete;

  /// The answer of a creator. `creator_says` is empty if the creator is not known to have heard the request;
  /// `missed` then says why.
  struct answer {
    std::optional<status> creator_says;
    error missed;
  };
  /// Asks the creator of `id`, and waits for its answer.
  task<answer> ask(group_id id);
  /// Serves such a request, or gives the reason why not.
  error serve(transport::request_view& request, const collective_head& head);
  /// Returns false if the request is not one of those that are served here.
  bool cancelled(transport::incoming& work) noexcept;
  /// Ends the waiting for creators with `closed`.
  void stop() noexcept;

 private:
  struct question final : transport::exchange, list_hook<question> {
    question() noexcept : exchange(&on_answer) {}
    answer heard;
    event done;
  };
  struct served final : transport::incoming {};

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept;
  task<void> end(std::list<served>::iterator work, std::shared_ptr<group_state> group);
  void reply(transport::incoming& work, const status& ended);

  engine& owner_;
  intrusive_list<question, question> asking_;
  std::list<served> serving_;
};

}  // namespace scoll::detail
