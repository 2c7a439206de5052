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

constexpr std::size_t kib = 1024;

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

/// This member has called, and has voted for a proposal.
void vote(agreement_instance& i) {
  const auto value = largest_value(i.number);
  i.votes.call(value);
  i.votes.accept({1, 1}, {value, {4}});
}

/// This member proposes besides: all members have contributed, and others have voted for another proposal. No
/// state of an instance has more values.
void vote_and_propose(agreement_instance& i) {
  vote(i);
  const rank_set all = rank_set::all(voters);
  i.proposer.emplace(voters, 0, i.rule, &keep_larger);
  i.proposer->next_ballot(i.votes.promised());
  agreement_answers answers;
  answers.voters = {0, 1};
  all.for_each([&](std::uint32_t rank) { answers.contributions.push_back({{rank}, i.votes.own()}); });
  answers.accepted = {{1, 2}, {i.votes.own(), {3, 4}}};
  i.proposer->after_collect(answers, all, {0, 1}, {});
}

/// Returns the bytes of an instance in a full table, if each has been brought to a state by `fill`.
template <class Fill>
std::size_t bytes_each(const Fill& fill) {
  const auto before = allocation_counter::bytes_on_this_thread();
  full_table t;
  for (std::uint64_t number = 0; number < full_table::most_open; ++number) {
    const auto opened = t.open(number, &empty_instance);
    REQUIRE(opened.instance != nullptr);
    fill(*opened.instance);
  }
  REQUIRE(t.open_count() == full_table::most_open);
  return static_cast<std::size_t>(allocation_counter::bytes_on_this_thread() - before) /
         full_table::most_open;
}

}  // namespace

TEST_CASE("an instance takes 3.1 KiB, and 5.1 KiB at most on a member that proposes", "[agreement]") {
  if (!allocation_counter::counting) return;
  const std::size_t voting = bytes_each(&vote), proposing = bytes_each(&vote_and_propose);
  INFO(voting << " and " << proposing << " bytes");
  CHECK(voting > 2 * max_agreed_bytes);
  CHECK(voting <= 31 * kib / 10);
  CHECK(proposing > 4 * max_agreed_bytes);
  CHECK(proposing <= 51 * kib / 10);
}
