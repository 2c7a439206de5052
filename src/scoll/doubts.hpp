#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/ids.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::detail {

/// Verdicts of the gossip on peers that this node is connected with. Such a peer is asked over all its
/// connections, and has two gossip intervals to show that its gossip goes on; then the verdict is carried out.
/// Datagrams may be lost where connections get through, and a crashed host leaves connections that look alive.
class doubts {
 public:
  /// Carries out the verdicts that stand.
  class judge {
   public:
    virtual void on_confirmed(node_id peer, std::uint64_t incarnation) noexcept = 0;

   protected:
    ~judge() = default;
  };

  doubts(transport::endpoint& wire, nanoseconds interval, judge& tell) noexcept;
  ~doubts() { stop(); }
  doubts(const doubts&) = delete;
  doubts& operator=(const doubts&) = delete;

  /// Asks the peer. False if there is no connection with that incarnation of it, so that nothing speaks against
  /// the verdict.
  bool ask(node_id peer, std::uint64_t incarnation);
  /// The peer lives, at least in that incarnation.
  void drop(node_id peer, std::uint64_t incarnation) noexcept;
  /// True if a verdict on the peer has not been carried out yet.
  bool about(node_id peer) const noexcept {
    return std::ranges::find(open_, peer, &doubt::peer) != open_.end();
  }

 private:
  struct doubt {
    node_id peer;
    std::uint64_t incarnation;
    time_point due;  // of the next question, or of the verdict
    bool last;       // the next is the verdict
  };

  void on_time() noexcept;
  void arm() noexcept;
  void stop() noexcept;
  bool connected_with(node_id peer, std::uint64_t incarnation) noexcept;

  transport::endpoint& wire_;
  nanoseconds interval_;
  judge& tell_;
  std::vector<doubt> open_;
  member_timer<&doubts::on_time> timer_{*this};
};

}  // namespace scoll::detail
