#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/time.hpp"
#include "transport/sim/small_queue.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::testing {

class fake_pair;

/// The READs of one queue pair, which the peer's device serves in order, whatever the processors of both hosts
/// do. Bytes move piece by piece at later moments. Right and connection are checked for each piece. A READ that
/// is refused fails both queue pairs. A response that is under way when its queue pair fails is written at the last
/// moment before the queue pair is destroyed.
class fake_reads {
 public:
  using result_of = transport::verbs::completion::result;

  explicit fake_reads(fake_pair& owner) noexcept : pair_(owner) {}
  ~fake_reads();
  fake_reads(const fake_reads&) = delete;
  fake_reads& operator=(const fake_reads&) = delete;

  std::size_t under_way() const noexcept { return posted_.size(); }
  void post(const transport::verbs::read_request& what) noexcept;
  /// Completes all: the first with the reason, the others as flushed.
  void fail(result_of outcome) noexcept;

 private:
  void move() noexcept;
  void try_again() noexcept;
  void keep_response() noexcept;

  fake_pair& pair_;
  small_queue<transport::verbs::read_request> posted_;
  std::uint32_t moved_ = 0;  // bytes of the first
  unsigned attempts_ = 0;
  transport::verbs::read_request late_;  // whose response comes after a failure
  std::vector<std::byte> late_bytes_;
  member_timer<&fake_reads::move> timer_{*this};  // in the world's time
};

}  // namespace scoll::testing
