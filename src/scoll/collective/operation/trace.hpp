#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scoll/collective/operation/child.hpp"
#include "scoll/collective/operation/subject.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/collective/trace/record.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"

namespace scoll::detail {

/// What an operation notes for the root's trace: its own stamps, and those of the members below it as they
/// come with the children's answers. Only an operation whose root asks for a trace has one.
class operation_trace {
 public:
  operation_trace(const executor& clock, std::size_t children);
  /// This member takes the request now.
  static std::unique_ptr<operation_trace> begin(const executor& clock, std::size_t children);

  void prepared() noexcept;
  void begun() noexcept;
  void ended() noexcept;
  /// This member's answer is complete. Later stamps count for nothing.
  void answered() noexcept;
  void sent(std::size_t child) noexcept;
  /// The answer of a child has come. Takes the trace off the end of its payload. Error: `malformed`.
  status heard(const operation_subject& subject, const operation_child& c, std::size_t index,
               const collective_reply_head& head, std::span<const std::byte>& payload);

  /// Writes this member's stamps, and then those of the members below as far as there is room, at most
  /// `trace_limit` bytes. Returns the size. 0: not even the number of dropped members fits.
  std::size_t encode(std::uint32_t self, std::span<std::byte> room);

  /// The course of the broadcast as far as it is known, at the root. It is brought up to date at the end.
  std::shared_ptr<const collective_trace> tell(const operation_subject& subject);
  /// The broadcast has ended.
  void complete(const operation_subject& subject);

 private:
  std::uint64_t now() const noexcept;
  collective_trace place(const operation_subject& subject) const;

  const executor& clock_;
  time_point began_;
  trace_record own_;
  bool over_ = false;
  std::vector<std::byte> below_;     // records
  std::vector<std::uint32_t> ends_;  // where each of them ends
  std::uint32_t dropped_ = 0;
  std::shared_ptr<collective_trace> told_;  // null until somebody asks
};

}  // namespace scoll::detail
