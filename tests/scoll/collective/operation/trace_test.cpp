#include "scoll/collective/operation/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/collective/limits.hpp"
#include "tests/catch.hpp"

// What the members of large trees note, without the messages between them.
using namespace scoll;
using namespace scoll::detail;

namespace {

/// A clock that passes when it is read.
struct read_clock final : executor {
  mutable time_point at{};
  time_point now() const noexcept override { return at += nanoseconds(700); }
  void post(posted_node&) noexcept override {}
};

/// The members of one traced broadcast, each of which gives its answer to its parent.
class traced_members {
 public:
  traced_members(std::uint32_t n, const tree_spec& tree, std::size_t room = trace_limit) : room_(room) {
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < n; ++i) targets.push_back({i + 1, {}});
    subject_.group = std::make_shared<group_state>();
    subject_.group->members = membership::make(targets).value();
    subject_.tree = any_tree::resolve(tree, n).value();
    subject_.members = n;
  }

  collective_trace told() {
    operation_trace root(clock_, children_of(0).size());
    run(root, 0);
    return *root.tell(subject_);
  }

 private:
  std::vector<std::uint32_t> children_of(std::uint32_t member) const {
    std::vector<std::uint32_t> found;
    auto cursor = subject_.tree.cursor(subject_.members, member);
    for (auto next = cursor.next(); next; next = cursor.next()) found.push_back(*next);
    return found;
  }

  void run(operation_trace& trace, std::uint32_t member) {
    const auto children = children_of(member);
    trace.prepared();
    for (std::size_t i = 0; i < children.size(); ++i) trace.sent(i);
    trace.begun();
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::vector<std::byte> answer = answer_of(children[i]);
      operation_child c;
      c.relative = children[i];
      c.nodes = subject_.tree.subtree_nodes(subject_.members, children[i]);
      collective_reply_head head;
      head.trace_bytes = static_cast<std::uint32_t>(answer.size());
      std::span<const std::byte> payload = answer;
      REQUIRE(trace.heard(subject_, c, i, head, payload));
      REQUIRE(payload.empty());
    }
    trace.ended();
    trace.answered();
    trace.ended();  // too late to count
  }

  std::vector<std::byte> answer_of(std::uint32_t member) {
    operation_trace trace(clock_, children_of(member).size());
    run(trace, member);
    std::vector<std::byte> answer(room_ + 100);
    answer.resize(trace.encode(member, std::span(answer).first(room_)));
    return answer;
  }

  std::size_t room_;
  read_clock clock_;
  operation_subject subject_;
};

/// Each member that is placed lies within its parent's exchange with it.
void check_all_accounted(const collective_trace& trace, std::uint32_t n) {
  REQUIRE(trace.spans().size() + trace.dropped() == n);
  std::vector<const trace_span*> by_rank(n);
  for (const trace_span& s : trace.spans()) {
    REQUIRE(by_rank[s.rank] == nullptr);
    by_rank[s.rank] = &s;
    if (!s.parent) continue;
    const trace_span* const parent = by_rank[*s.parent];
    REQUIRE(parent != nullptr);
    REQUIRE((parent->arrived <= s.arrived && s.arrived <= s.answered && s.answered <= parent->answered));
  }
}

}  // namespace

TEST_CASE("a thousand members are placed or counted as dropped", "[trace]") {
  for (const tree_spec& tree :
       {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(kary{3}), tree_spec(flat{})}) {
    const collective_trace trace = traced_members(1000, tree).told();
    INFO(to_string(tree) << ": " << trace.dropped() << " dropped");
    check_all_accounted(trace, 1000);
    CHECK(trace.dropped() < 700);
    if (tree == tree_spec(chain{})) CHECK(trace.dropped() != 0);
    if (tree == tree_spec(flat{})) CHECK(trace.dropped() == 0);
  }
}

TEST_CASE("members drop stamps where answers have little room, those that are farthest away first",
          "[trace]") {
  for (const std::size_t room : {0U, 3U, 4U, 5U, 20U, 21U, 40U, 64U, 100U, 400U}) {
    INFO(room << " bytes");
    const collective_trace trace = traced_members(40, knomial{2}, room).told();
    check_all_accounted(trace, 40);
    CHECK((trace.spans().size() == 1) == (room < 20));
  }
  const collective_trace trace = traced_members(40, chain{}, 200).told();
  check_all_accounted(trace, 40);
  for (std::uint32_t i = 0; i < trace.spans().size(); ++i) CHECK(trace.spans()[i].rank == i);
}
