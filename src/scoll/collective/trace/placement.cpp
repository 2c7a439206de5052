#include "scoll/collective/trace/placement.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {
namespace {

constexpr std::uint32_t nowhere = UINT32_MAX;

/// The clock of a member on that of the root.
class placed_clock {
 public:
  /// The root's own.
  explicit placed_clock(std::uint64_t took) noexcept : took_(took), room_(took) {}

  /// That of a child which has taken `took` by its own clock, between the request to it and its answer.
  placed_clock(nanoseconds sent, nanoseconds answered, std::uint64_t took, nanoseconds error) noexcept
      : took_(took) {
    const auto between = static_cast<std::uint64_t>((answered - sent).count());
    room_ = std::min(took, between);
    const std::uint64_t way =
        SCOLL_MUTANT(trace_placed_when_sent, "a trace places a child at the time of its request")
            ? 0
            : (between - room_) / 2;
    at_ = sent + nanoseconds(static_cast<std::int64_t>(way));
    const std::uint64_t wrong = took > between ? took - between : (between - took + 1) / 2;
    error_ = error + nanoseconds(static_cast<std::int64_t>(wrong));
  }

  nanoseconds error() const noexcept { return error_; }
  nanoseconds operator()(std::uint64_t stamp) const noexcept {
    if (room_ == took_) return at_ + nanoseconds(static_cast<std::int64_t>(stamp));
    const double share = static_cast<double>(stamp) / static_cast<double>(took_);
    const auto shortened = static_cast<std::uint64_t>(share * static_cast<double>(room_));
    return at_ + nanoseconds(static_cast<std::int64_t>(std::min(shortened, room_)));
  }
  std::optional<nanoseconds> if_stamped(std::uint64_t stamp) const noexcept {
    return stamp == trace_record::never ? std::nullopt : std::optional((*this)(stamp));
  }

 private:
  nanoseconds at_{0};
  nanoseconds error_{0};
  std::uint64_t took_;
  std::uint64_t room_ = 0;
};

/// The spans of the members, as they are being placed.
class placement {
 public:
  explicit placement(const operation_subject& subject) : subject_(subject), places_(subject.members) {}

  void place_root(const trace_record& r) { add(r, placed_clock(r.answered)); }

  /// Returns false if the member's parent does not know of its answer.
  bool place_child(const trace_record& r) {
    const place& at = places_[r.member];
    if (at.parent == nowhere || !at.link.answered) return false;
    const nanoseconds error_of_parent = spans_[at.parent].error;
    add(r, placed_clock(at.link.sent, *at.link.answered, r.answered, error_of_parent));
    return true;
  }

  /// The spans, subtree by subtree.
  std::vector<trace_span> take() {
    std::vector<trace_span> sorted;
    sorted.reserve(spans_.size());
    std::vector<std::uint32_t> next{subject_.relative};
    while (!next.empty()) {
      const std::uint32_t member = next.back();
      next.pop_back();
      const std::uint32_t span = std::exchange(places_[member].span, nowhere);
      if (span == nowhere) continue;
      sorted.push_back(std::move(spans_[span]));
      const auto first = static_cast<std::ptrdiff_t>(next.size());
      each_child(member, [&](std::uint32_t child) { next.push_back(child); });
      std::reverse(next.begin() + first, next.end());
    }
    return sorted;
  }

 private:
  struct place {
    std::uint32_t span = nowhere;    ///< the member's own
    std::uint32_t parent = nowhere;  ///< that of its parent, once it is placed and has sent the request
    trace_link link;
  };

  template <class Fn>
  void each_child(std::uint32_t member, Fn fn) const {
    auto cursor = subject_.tree.cursor(subject_.members, member);
    for (auto next = cursor.next(); next; next = cursor.next()) {
      if (*next < subject_.members && *next != member) fn(*next);
    }
  }

  void add(const trace_record& r, const placed_clock& clock) {
    place& own = places_[r.member];
    own.span = static_cast<std::uint32_t>(spans_.size());
    trace_span s;
    s.rank = subject_.rank_at(r.member);
    s.node = subject_.group->members->node(s.rank);
    if (own.parent != nowhere) {
      s.parent = spans_[own.parent].rank;
      s.level = spans_[own.parent].level + 1;
    }
    s.error = clock.error();
    s.arrived = clock(0);
    s.prepared = clock.if_stamped(r.prepared);
    s.begun = clock.if_stamped(r.begun);
    s.ended = clock.if_stamped(r.ended);
    s.answered = clock(r.answered);
    add_children(r, clock, s);
    spans_.push_back(std::move(s));
  }

  void add_children(const trace_record& r, const placed_clock& clock, trace_span& s) {
    std::size_t i = 0;
    each_child(r.member, [&](std::uint32_t child) {
      const trace_record::exchange stamps = i < r.children.size() ? r.children[i] : trace_record::exchange{};
      ++i;
      if (stamps.sent == trace_record::never || places_[child].parent != nowhere) return;
      const std::uint32_t rank = subject_.rank_at(child);
      const node_id node = subject_.group->members->node(rank);
      const trace_link link{rank, node, clock(stamps.sent), clock.if_stamped(stamps.answered)};
      places_[child].parent = places_[r.member].span;
      places_[child].link = link;
      s.children.push_back(link);
    });
  }

  const operation_subject& subject_;
  std::vector<place> places_;  // by relative rank
  std::vector<trace_span> spans_;
};

}  // namespace

collective_trace place_trace(const operation_subject& subject, const trace_record& own,
                             std::span<const std::byte> below, std::uint32_t dropped) {
  placement placed(subject);
  placed.place_root(own);
  wire::reader in(below);
  trace_record r;
  while (in.remaining() != 0 && take_record(in, r)) dropped += !placed.place_child(r);
  return {subject.members, subject.tree.spec(), placed.take(), dropped};
}

}  // namespace scoll::detail
