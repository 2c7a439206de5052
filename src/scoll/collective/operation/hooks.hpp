#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"

namespace scoll::detail {

/// The hooks that can be coroutines.
enum class hook_kind : std::uint8_t { prepare, on_bulk, execute, on_reply, finish };

/// The progress of one operation's hooks.
class hook_set {
 public:
  struct state {
    bool running = false;
    bool done = false;
    status outcome;  ///< of the last one that ended; for this one's, `done` must be true

    void finish(const status& ended) noexcept {
      if (!ended || !outcome) outcome = ended;  // an error is large
      running = false;
      done = true;
    }
  };

  state& at(hook_kind which) noexcept { return states_[static_cast<std::size_t>(which)]; }
  const state& at(hook_kind which) const noexcept { return states_[static_cast<std::size_t>(which)]; }

  /// Notes that a hook begins to run as a coroutine.
  state& begin(hook_kind which) noexcept {
    state& s = at(which);
    s.running = true;
    s.done = false;
    suspended_ = true;
    ++running_;
    return s;
  }
  /// Notes that it has returned.
  void end(state& s, const status& ended) noexcept {
    s.finish(ended);
    --running_;
  }
  /// Forgets all. An outcome may stay, because it is large, and the next one takes its place. Of plain functions
  /// only `execute` leaves something here.
  void clear() noexcept {
    at(hook_kind::execute).done = false;
    if (!std::exchange(suspended_, false)) return;
    for (state& s : states_) s.running = s.done = false;
    running_ = 0;
  }
  bool any_running() const noexcept { return running_ != 0; }

  /// Names of the hooks that have not returned.
  std::vector<const char*> running() const {
    constexpr std::array names{"prepare", "on_bulk", "execute", "on_reply", "finish"};
    std::vector<const char*> found;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].running) found.push_back(names[i]);
    }
    return found;
  }

 private:
  std::array<state, 5> states_;
  std::uint32_t running_ = 0;
  bool suspended_ = false;  // a hook has begun as a coroutine
};

}  // namespace scoll::detail
