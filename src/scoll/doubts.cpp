#include "scoll/doubts.hpp"

#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"

namespace scoll::detail {

doubts::doubts(transport::endpoint& wire, nanoseconds interval, judge& tell) noexcept
    : wire_(wire), interval_(interval), tell_(tell) {}

bool doubts::connected_with(node_id peer, std::uint64_t incarnation) noexcept {
  transport::session* const session = wire_.find(peer);
  return session != nullptr && session->peer_incarnation() == incarnation && session->probe_now();
}

bool doubts::ask(node_id peer, std::uint64_t incarnation) {
  if (SCOLL_MUTANT(verdict_unquestioned, "a verdict of the gossip is carried out at once") ||
      !connected_with(peer, incarnation))
    return false;
  drop(peer, incarnation);
  open_.push_back({peer, incarnation, wire_.get_executor().now() + interval_, false});
  arm();
  return true;
}

void doubts::drop(node_id peer, std::uint64_t incarnation) noexcept {
  std::erase_if(open_, [&](const doubt& d) { return d.peer == peer && d.incarnation <= incarnation; });
}

/// A peer that was not probed before cannot have shown growth with its first answer, so it is asked twice.
void doubts::on_time() noexcept {
  const time_point now = wire_.get_executor().now();
  std::vector<doubt> confirmed;
  for (doubt& each : open_) {
    if (each.due > now) continue;
    if (each.last || !connected_with(each.peer, each.incarnation)) {
      confirmed.push_back(each);
    } else {
      each.last = true;
      each.due += interval_;
    }
  }
  for (const doubt& each : confirmed) drop(each.peer, each.incarnation);
  arm();
  for (const doubt& each : confirmed) tell_.on_confirmed(each.peer, each.incarnation);
}

void doubts::arm() noexcept {
  stop();
  const auto next = std::ranges::min_element(open_, {}, &doubt::due);
  if (next != open_.end()) wire_.get_executor().arm(timer_, next->due);
}

void doubts::stop() noexcept {
  if (timer_.armed()) wire_.get_executor().disarm(timer_);
}

}  // namespace scoll::detail
