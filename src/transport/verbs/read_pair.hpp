#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/device_pair.hpp"
#include "transport/verbs/introduction.hpp"
#include "transport/verbs/peer_rights.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

class verbs_link;

/// The queue pair of a link by which each side READs memory of the other one. It is apart from that for
/// messages, because READs beyond the depth of a queue pair stall what is posted behind them. It outlives its
/// link until the device has let go of all memory, which is when what is still open completes.
///
/// READs are posted in order, in pieces, and at most `depth` pieces are under way. Once this end of the queue
/// pair is destroyed, the peer can read nothing by it any more.
class read_pair final : public device_pair, public remote_access {
 public:
  read_pair(device& owner, gate_pass open) noexcept;
  ~read_pair() override;

  /// What the peer has to know of it. Call this once it has been made.
  void introduce(introduction& said) const noexcept;
  /// Begins to connect to the peer's queue pair.
  void connect(const introduction& peer) noexcept;
  /// It belongs to a link from now on, whose name at both ends is `id`.
  void serve(verbs_link& of, std::uint32_t id) noexcept;
  /// The link has ended. It goes by itself.
  void release() noexcept;

  void fail(const error& reason) noexcept override;
  void on_posted_done(const completion& done) noexcept override;

  std::uint32_t id() const noexcept override { return id_; }
  memory_registrar& registrar() noexcept override;
  void read(remote_read& what) noexcept override;
  void grant(read_grant& right, std::span<const registered_piece> pieces) noexcept override;
  void end(read_grant& right) noexcept override;
  void cut() noexcept override;
  void cut_now() noexcept override;

  // For the rights of its peer:
  /// Requests can be posted.
  bool is_usable() const noexcept { return !failed_ && !destroyed_; }
  window_request binding(std::uint32_t window, const registered_piece& to) noexcept;
  window_request unbinding(std::uint32_t window) noexcept;
  /// Posts requests. False: the device has not taken them all, and the queue pair has failed.
  bool post(std::span<const window_request> requests) noexcept;
  std::uint32_t window_key(std::uint32_t window) const noexcept;
  void answer_later() noexcept;

 private:
  using reads = intrusive_list<remote_read, remote_read>;
  static constexpr std::uint32_t most_depth = 256;
  static constexpr std::uint32_t window_bit = 1U << 31U;  // of the tags of requests about windows

  void on_pair_made(const status&) noexcept override {}
  void on_pair_connected(const status&) noexcept override {}
  void on_destroyed() noexcept override;

  std::uint32_t under_way() const noexcept { return next_ - first_; }
  void pump() noexcept;
  std::size_t fill(std::span<read_request> batch) noexcept;
  void settle(std::uint32_t end) noexcept;
  void forget_under_way() noexcept;
  void forget_window_requests() noexcept;
  void on_window_done(std::uint32_t window, const completion& done) noexcept;
  void answer() noexcept;
  void finish_all() noexcept;

  verbs_link* link_ = nullptr;
  std::uint32_t id_ = 0;
  std::uint32_t depth_ = 0;
  bool failed_ = false;
  bool destroyed_ = false;
  bool left_ = false;  // by its link

  reads waiting_;            // not posted to the end
  reads posted_;             // in order
  std::size_t begun_ = 0;    // bytes of the first that waits, which are posted
  std::uint32_t first_ = 0;  // of the pieces under way
  std::uint32_t next_ = 0;
  std::uint32_t window_requests_ = 0;    // under way
  std::array<bool, most_depth> ends_{};  // of the pieces, by number: it is the last of its read

  peer_rights rights_;
  member_node<&read_pair::answer> answers_{*this};
};

}  // namespace scoll::transport::verbs
