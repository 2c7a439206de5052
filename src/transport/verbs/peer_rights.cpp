#include "transport/verbs/peer_rights.hpp"

#include <algorithm>

#include "scoll/coro/mutants.hpp"
#include "transport/verbs/read_pair.hpp"

namespace scoll::transport::verbs {

void peer_rights::grant(read_grant& right, std::span<const registered_piece> pieces) noexcept {
  promise& made = promises_.emplace_back(promise{&right, {}, {}, pieces.size(), promise::state::in_force});
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    made.pieces[i] = pieces[i];
    made.extents[i] = {pieces[i].remote_address, pieces[i].remote_key,
                       static_cast<std::uint32_t>(pieces[i].bytes.size())};
  }
  granting_.push_back(right);
  pair_.answer_later();
  if (!bound_.used()) return;
  made.is = promise::state::waiting;
  bind_more();
}

/// The peer reads no more by it, or has never heard of it.
void peer_rights::end(read_grant& right) noexcept {
  const std::span<const std::uint32_t> windows = bound_.end(right);
  std::erase_if(promises_, [&](const promise& p) { return p.to == &right; });
  right.unlink();
  (windows.empty() ? ending_ : unbinding_).push_back(right);
  if (!windows.empty()) return unbind(windows);
  pair_.answer_later();
  if (bound_.used()) bind_more();  // it may have held back those behind it
}

peer_rights::promise* peer_rights::find(const read_grant& right) noexcept {
  const auto found = std::ranges::find(promises_, &right, &promise::to);
  return found == promises_.end() ? nullptr : &*found;
}

// ---- windows

/// Binds windows for the rights that wait, in order, as long as there are enough.
void peer_rights::bind_more() noexcept {
  for (promise& each : promises_) {
    if (each.is != promise::state::waiting) continue;
    if (!pair_.is_usable() || !bound_.has_room(each.count)) return;
    bind(each);
  }
}

void peer_rights::bind(promise& made) noexcept {
  const std::span<const std::uint32_t> windows = bound_.take(*made.to, made.count);
  std::array<window_request, most_extents> requests;
  for (std::size_t i = 0; i < made.count; ++i) requests[i] = pair_.binding(windows[i], made.pieces[i]);
  made.is = SCOLL_MUTANT(verbs_right_told_early, "a right is told of before its windows are bound")
                ? promise::state::in_force
                : promise::state::binding;
  if (!pair_.post(std::span(requests).first(made.count))) return;
  for (std::size_t i = 0; i < made.count; ++i) made.extents[i].key = pair_.window_key(windows[i]);
}

/// A request to unbind may follow the one that binds before that has completed: the device keeps their order.
void peer_rights::unbind(std::span<const std::uint32_t> windows) noexcept {
  if (!pair_.is_usable()) return;  // they end with the queue pair
  std::array<window_request, 2 * most_extents> requests;
  std::size_t count = 0;
  for (const std::uint32_t window : windows) {
    requests[count++] = pair_.unbinding(window);
    if (SCOLL_MUTANT(verbs_window_unbound_twice, "a window is unbound twice"))
      requests[count++] = pair_.unbinding(window);
  }
  pair_.post(std::span(requests).first(count));
}

void peer_rights::on_window_done(std::uint32_t window) noexcept {
  const bound_rights::progress now = bound_.completed(window);
  if (now.in_force != nullptr) {
    if (promise* const its = find(*now.in_force)) its->is = promise::state::in_force;
  } else if (now.ended != nullptr) {
    now.ended->unlink();
    ending_.push_back(*now.ended);
    bind_more();
  } else {
    return;
  }
  pair_.answer_later();
}

// ---- telling

void peer_rights::tell() noexcept {
  grants ended;
  ended.splice(ending_);
  tell_granted();
  while (!ended.empty()) ended.pop_front().on_ended();
}

/// Whoever is told may ask for other rights, which are told of later, and end those that are about to be told of.
void peer_rights::tell_granted() noexcept {
  grants now;
  for (const promise& each : promises_) {
    if (each.is != promise::state::in_force) continue;
    each.to->unlink();
    now.push_back(*each.to);
  }
  while (!now.empty()) {
    read_grant& right = now.pop_front();
    in_force_.push_back(right);
    const promise* const its = find(right);
    if (its == nullptr) continue;  // the link has been cut: it ends with that
    const promise told = *its;
    std::erase_if(promises_, [&](const promise& p) { return p.to == &right; });
    right.on_granted({told.extents.data(), told.count});
  }
}

void peer_rights::finish() noexcept {
  forget();
  // Whoever is told may end other rights, so each list is taken anew.
  const auto lists = {&granting_, &in_force_, &unbinding_, &ending_};
  while (std::ranges::any_of(lists, [](const grants* each) { return !each->empty(); })) {
    for (grants* each : lists) {
      if (!each->empty()) each->pop_front().on_ended();
    }
  }
}

}  // namespace scoll::transport::verbs
