#pragma once

#include <cstdint>

#include "scoll/coro/error.hpp"
#include "scoll/coro/intrusive_list.hpp"

namespace scoll::transport {

class message;
class session;

/// The stages of a notice on its way to the peer.
enum class notice_state : std::uint8_t {
  queued,        ///< it waits for a connection or for credit
  emitted,       ///< a connected link has it; it is kept, and sent again on a new link, until acknowledged
  acknowledged,  ///< it has arrived at the peer
  lost,          ///< its session ended before it was acknowledged, so it may have arrived or not
};

/// A ticket for one notice, which hears how far the notice has come. After `session::notify` it is called
/// once with `emitted`, and once with `acknowledged` or `lost`; it is not called with `emitted` if the end is
/// known first. The call never comes from inside `notify`. After the end, or after `forget`, the ticket may
/// be used again.
class emission : public list_hook<emission> {
 public:
  /// `reason` says why a notice is lost, and is ok otherwise. The function may use or destroy the ticket.
  using function = void (*)(emission&, notice_state, const error& reason) noexcept;

  explicit emission(function on_progress) noexcept : on_progress_(on_progress) {}
  ~emission() { forget(); }

  /// True from `session::notify` to the end of the notice.
  bool pending() const noexcept { return pending_; }
  notice_state state() const noexcept { return state_; }
  /// Makes the ticket hear nothing more. The notice still goes to the peer.
  void forget() noexcept;

 private:
  friend class session;

  function on_progress_;
  message* notice_ = nullptr;  // while the session holds it
  notice_state state_ = notice_state::queued;
  bool pending_ = false;
};

}  // namespace scoll::transport
