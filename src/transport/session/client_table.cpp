#include "transport/session/client_table.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

client_table::~client_table() {
  if (timer_.armed()) owner_.executor_.disarm(timer_);
  if (sweeping_.scheduled()) owner_.executor_.unschedule(sweeping_);
}

/// A round is short enough that a client which falls silent loses its place within the silence limit.
nanoseconds client_table::interval() const noexcept {
  constexpr nanoseconds least = std::chrono::milliseconds(50);
  constexpr nanoseconds without_limit = std::chrono::seconds(2);
  const nanoseconds limit = owner_.options_.silence_limit;
  return limit.count() == 0 ? without_limit : std::max(least, limit / (most_silent_rounds + 1));
}

result<session*> client_table::admit(const identity& said, std::string_view from) {
  if (session* const known = owner_.find(said.node); known != nullptr) {
    known->address_ = from;
    return known;
  }
  const std::uint32_t most = owner_.options_.clients;
  if (size_ >= most && !SCOLL_MUTANT(clients_unbounded, "there are places for any number of clients"))
    return make_error(errc::busy, "{} clients have a place on node {}: link.clients is {}", size_,
                      owner_.options_.self, most);
  auto made = std::make_unique<session>(owner_, said.node, std::string(from));
  made->epoch_ =
      SCOLL_MUTANT(client_epoch_reused, "a client that comes back meets the epoch of its old session")
          ? 1
          : ++epoch_;
  session* const one = made.get();
  owner_.sessions_.emplace(said.node, std::move(made));
  ++size_;
  if (timer_.armed()) return one;
  next_ = owner_.executor_.now() + interval();
  owner_.executor_.arm(timer_, next_);
  return one;
}

void client_table::session_over() noexcept {
  if (!owner_.draining_ && !sweeping_.scheduled()) owner_.executor_.schedule(sweeping_);
}

/// True if nothing refers to the session, and the client is not there.
bool client_table::can_go(const session& one) const noexcept {
  const bool connected =
      std::ranges::any_of(one.lanes_, [](const auto& l) { return l != nullptr && l->up(); });
  return one.peer_epoch_ == 0 && !connected && one.held_messages() == 0 && one.waiting() == 0 &&
         one.incoming_.empty() && one.orphans_.empty() &&
         (owner_.memory_ == nullptr || !owner_.memory_->refers_to(one.peer()));
}

void client_table::sweep() noexcept {
  auto& all = owner_.sessions_;
  for (auto at = all.lower_bound(client_bit); at != all.end();) {
    session& one = *at->second;
    if (!can_go(one)) {
      ++at;
      continue;
    }
    const node_id client = one.peer();
    epoch_ = std::max(epoch_, one.epoch_);
    at = all.erase(at);
    --size_;
    ++owner_.statistics_.clients_gone;
    owner_.tell_client_gone(client);
  }
}

void client_table::on_time() noexcept {
  const bool late = owner_.executor_.now() - next_ > interval() / 2;
  auto& all = owner_.sessions_;
  for (auto at = all.lower_bound(client_bit); at != all.end(); ++at) at->second->ask_idle(late);
  sweep();
  if (size_ == 0) return;
  next_ = owner_.executor_.now() + interval();
  owner_.executor_.arm(timer_, next_);
}

/// Counts the rounds in which a client of which nothing is awaited has not answered.
void session::ask_idle(bool late) noexcept {
  if (awaits() || peer_epoch_ == 0) return;
  const auto is_up = [](const auto& l) { return l != nullptr && l->up(); };
  const auto asked = std::ranges::find_if(lanes_, is_up);
  const bool connected = asked != lanes_.end();
  const bool silent = !connected || (*asked)->unanswered();
  silent_for_ = silent && !late ? silent_for_ + 1 : 0;
  const bool endless = connected && endpoint_.options_.silence_limit.count() == 0;
  if (!endless &&
      silent_for_ >= (connected ? client_table::most_silent_rounds : client_table::most_rounds_apart)) {
    ++endpoint_.statistics_.clients_silent;
    return fail({errc::connection_lost, "the client does not answer any more"});
  }
  if (connected) (*asked)->probe_now();
}

}  // namespace scoll::transport
