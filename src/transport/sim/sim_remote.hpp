#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::testing {

class sim_link;

/// The hardware at one end of a simulated link for bulk, which outlives the link until it is fenced.
///
/// Reads are served in order, one at a time. Bytes move in the world's time, piece by piece, whatever the
/// processors of both hosts do. All answers come late. A right that is not in force, or a range outside of it,
/// breaks the link. After the end of the link, reads go on until the fence, because an error state only brings
/// about that the hardware lets go.
class sim_remote final : public transport::remote_access {
 public:
  sim_remote(sim_link& of, sim_rail& rail, std::uint32_t peer_host, std::uint32_t id);
  ~sim_remote();
  sim_remote(const sim_remote&) = delete;
  sim_remote& operator=(const sim_remote&) = delete;

  static void join(sim_remote& a, sim_remote& b) noexcept {
    a.peer_ = &b;
    b.peer_ = &a;
  }

  std::uint32_t id() const noexcept override { return id_; }
  transport::memory_registrar& registrar() noexcept override;
  void read(transport::remote_read& what) noexcept override;
  void grant(transport::read_grant& right,
             std::span<const transport::registered_piece> pieces) noexcept override;
  void end(transport::read_grant& right) noexcept override;
  void cut() noexcept override;
  void cut_now() noexcept override;

  /// The link is gone. Its end is fenced soon, and then this object goes.
  void link_ended() noexcept;
  /// The life that it belongs to has crashed.
  void bury() noexcept;

 private:
  using reads = intrusive_list<transport::remote_read, transport::remote_read>;
  using grants = intrusive_list<transport::read_grant, transport::read_grant>;
  struct right {
    const transport::read_grant* grant;
    std::array<transport::remote_extent, transport::most_extents> extents;
    std::array<const std::byte*, transport::most_extents> memory;  // behind the extents
    std::size_t count;
    std::span<const transport::remote_extent> view() const noexcept { return {extents.data(), count}; }
  };

  sim_world& world() const noexcept;
  bool reachable() const noexcept;
  const std::byte* granted(const transport::remote_extent& from, std::size_t offset,
                           std::size_t size) const noexcept;
  void move() noexcept;
  void wait_for_peer() noexcept;
  void landed() noexcept;
  void answer_later() noexcept;
  void answer() noexcept;
  void fence() noexcept;
  nanoseconds some_time(nanoseconds most) noexcept;

  sim_rail& rail_;
  sim_network& network_;
  sim_executor& home_;
  gate_pass open_;
  sim_link* link_;
  sim_remote* peer_ = nullptr;
  std::uint32_t peer_host_;
  std::uint32_t id_;
  bool fenced_ = false;
  bool buried_ = false;
  std::deque<right> rights_;  // in force
  reads posted_;
  std::size_t moved_ = 0;  // bytes of the first
  nanoseconds stuck_since_{-1};
  reads landed_;
  grants granting_;
  grants in_force_;
  grants ending_;
  member_timer<&sim_remote::move> mover_{*this};      // in the world's time
  member_timer<&sim_remote::answer> answers_{*this};  // in the host's
  member_timer<&sim_remote::fence> fence_{*this};
};

}  // namespace scoll::testing
