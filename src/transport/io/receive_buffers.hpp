#pragma once

#include <cstddef>
#include <cstdint>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/ready_node.hpp"
#include "transport/io/reactor.hpp"

namespace scoll::transport {

/// The memory of one kind of receives, and the receives that wait because all of it is lent out. This object
/// is scheduled to resume them.
class receive_buffers : public list_hook<>, public ready_node {
 public:
  /// `resume` is called soon after buffers have come back for which a receive waits.
  receive_buffers(executor& home, function resume, std::size_t buffer_bytes, std::uint32_t limit);
  ~receive_buffers();

  executor& home() const noexcept { return home_; }
  void resume_soon() noexcept;
  void pause(detail::io_slot& s) noexcept;
  /// Takes the receive that has waited longest.
  detail::io_slot& take_paused() noexcept;
  /// Removes a receive that waits no longer.
  void forget_paused(detail::io_slot& s) noexcept;

  buffer_pool buffers;
  intrusive_list<detail::io_slot> paused;
  std::uint32_t paused_count = 0;
  bool dry = false;        // a receive found no buffer, and none has come back since
  bool receiving = false;  // datagrams: a receive uses these buffers

 private:
  executor& home_;
};

}  // namespace scoll::transport
