#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll {

/// A child to which a member has sent the request, as that member saw it.
struct trace_link {
  std::uint32_t rank = 0;
  node_id node = 0;
  nanoseconds sent{0};
  /// Not set if no answer came, or none that could be read.
  std::optional<nanoseconds> answered;
  friend bool operator==(const trace_link&, const trace_link&) = default;
};

/// What one member did. All times count from the start of the broadcast, by the root's clock, and each may be
/// wrong by `error`. They follow one another as the events did, and lie within those of the parent's exchange
/// with this member.
struct trace_span {
  std::uint32_t rank = 0;
  node_id node = 0;
  /// The rank of the member that sent it the request; not set for the root.
  std::optional<std::uint32_t> parent;
  /// The number of exchanges between the root and this member.
  std::uint32_t level = 0;
  nanoseconds error{0};
  /// When it took the request.
  nanoseconds arrived{0};
  /// When `prepare` had returned, so that the request could go on.
  std::optional<nanoseconds> prepared;
  /// When `execute` began and returned; not set as far as that did not happen before the answer.
  std::optional<nanoseconds> begun;
  std::optional<nanoseconds> ended;
  /// When its answer left.
  nanoseconds answered{0};
  /// The children to which it has sent the request, in that order.
  std::vector<trace_link> children;
  friend bool operator==(const trace_span&, const trace_span&) = default;
};

/// The time at which the last member had the request.
struct last_arrival {
  std::uint32_t rank = 0;
  nanoseconds at{0};
  nanoseconds error{0};
  friend bool operator==(const last_arrival&, const last_arrival&) = default;
};

/// The course of one broadcast, from `bcast_options::trace`. Members measure with clocks of their own, which
/// need not agree. A child is placed in the middle of the time between the request to it and its answer: the
/// way there and the way back count as equally long, and the error is half of what its work leaves of that
/// time, in addition to the error of its parent. That assumes that clocks run equally fast. A child whose
/// clock is so much faster that its work does not fit is shortened, and what is cut off is its error. An
/// empty trace, that of a broadcast without one, has no spans.
class collective_trace {
 public:
  collective_trace() = default;
  collective_trace(std::uint32_t members, const tree_spec& tree, std::vector<trace_span> spans,
                   std::uint32_t dropped)
      : members_(members), dropped_(dropped), tree_(tree), spans_(std::move(spans)) {}

  bool empty() const noexcept { return spans_.empty(); }
  /// The number of members that the broadcast was for.
  std::uint32_t members() const noexcept { return members_; }
  const tree_spec& tree() const noexcept { return tree_; }
  /// The members whose stamps have come: parents before their children, and subtrees in the order in which
  /// their parent sent to them.
  const std::vector<trace_span>& spans() const noexcept { return spans_; }
  /// The span of a member; null if its stamps have not come.
  const trace_span* find(std::uint32_t rank) const noexcept;
  /// The number of members that may have answered and whose stamps found no room in the answers above them.
  std::uint32_t dropped() const noexcept { return dropped_; }
  /// The time of the whole broadcast at the root, or until its result was given out.
  nanoseconds took() const noexcept { return empty() ? nanoseconds(0) : spans_.front().answered; }
  /// The member with the latest arrival; of several, the first one in `spans`. An empty trace gives zeros.
  last_arrival last() const noexcept;
  friend bool operator==(const collective_trace&, const collective_trace&) = default;

 private:
  std::uint32_t members_ = 0;
  std::uint32_t dropped_ = 0;
  tree_spec tree_;
  std::vector<trace_span> spans_;
};

/// Describes a trace for people: a line for each member, with the tree as indentation, its times, their error
/// and a bar, in at most 100 columns.
std::string to_text(const collective_trace& trace);

/// Writes a trace in the Trace Event Format, which viewers such as Perfetto and chrome://tracing read. A
/// process is a node and a thread is a rank; `ts` and `dur` are microseconds. Events are sorted by `ts`.
std::string to_chrome_json(const collective_trace& trace);

}  // namespace scoll
