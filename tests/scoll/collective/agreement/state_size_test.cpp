#include <algorithm>
#include <vector>

#include "scoll/collective/agreement/instance.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

using full_table = instance_table<agreement_instance>;

constexpr std::uint32_t voters = 5;

// An instance that proposes has four values: its own, that of its vote, those merged so far, and one that
// others have voted for.
constexpr std::size_t bytes_of_instance = 4710;  // 4.6 KiB

std::vector<std::byte> largest_value(std::uint64_t number) {
  return std::vector<std::byte>(max_agreed_bytes, static_cast<std::byte>(number));
}

status keep_larger(std::vector<std::byte>& into, std::span<const std::byte> from) {
  std::transform(into.begin(), into.end(), from.begin(), into.begin(),
                 [](auto a, auto b) { return std::max(a, b); });
  return {};
}

std::shared_ptr<agreement_instance> empty_instance(std::uint64_t number) {
  return std::make_shared<agreement_instance>(agreement_space::agree, number, quorum_rule::majority);
}

/// Brings an instance to the state in which it holds most: it has called and voted, all members have
/// contributed, and others have voted for another proposal.
void fill(agreement_instance& i) {
  const auto value = largest_value(i.number);
  i.votes.call(value);
  i.votes.accept({1, 1}, {value, {4}});
  i.proposer.emplace(voters, 0, i.rule, &keep_larger);
  i.proposer->next_ballot(i.votes.promised());
  const rank_set all = rank_set::all(voters);
  agreement_answers answers;
  answers.voters = {0, 1};
  all.for_each([&](std::uint32_t rank) { answers.contributions.push_back({{rank}, value}); });
  answers.accepted = {{1, 2}, {value, {3, 4}}};
  i.proposer->after_collect(answers, all, {0, 1}, {});
}

}  // namespace

TEST_CASE("an open instance takes at most 4.6 KiB", "[agreement]") {
  if (!allocation_counter::counting) return;
  const auto before = allocation_counter::bytes_on_this_thread();
  full_table t;
  for (std::uint64_t number = 0; number < full_table::most_open; ++number) {
    const auto opened = t.open(number, &empty_instance);
    REQUIRE(opened.instance != nullptr);
    fill(*opened.instance);
  }
  REQUIRE(t.open_count() == full_table::most_open);
  const auto each =
      static_cast<std::size_t>(allocation_counter::bytes_on_this_thread() - before) / full_table::most_open;
  INFO(each << " bytes each");
  CHECK(each > 4 * max_agreed_bytes);
  CHECK(each <= bytes_of_instance);
}
