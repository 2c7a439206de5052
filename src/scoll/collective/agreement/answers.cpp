#include "scoll/collective/agreement/answers.hpp"

#include <algorithm>

namespace scoll::detail {

void join(agreement_answers& into, const agreement_answers& from) {
  into.voters = into.voters | from.voters;
  into.contributions.insert(into.contributions.end(), from.contributions.begin(), from.contributions.end());
  if (from.accepted.at > into.accepted.at) into.accepted = from.accepted;
  if (!into.decided) into.decided = from.decided;
  into.overtaken_by = std::max(into.overtaken_by, from.overtaken_by);
  into.forgotten += from.forgotten;
  into.other_rule += from.other_rule;
}

void describe_to(std::vector<std::uint64_t>& out, const agreement_answers& answers) {
  describe_to(out, answers.voters);
  out.push_back(answers.contributions.size());
  auto parts = answers.contributions;  // their order does not matter
  std::ranges::sort(parts, {}, [](const contribution& c) { return c.from.ranges().front().first; });
  for (const contribution& c : parts) {
    describe_to(out, c.from);
    describe_to(out, c.value);
  }
  describe_to(out, answers.accepted);
  out.push_back(answers.decided.has_value());
  if (answers.decided) describe_to(out, *answers.decided);
  describe_to(out, answers.overtaken_by);
  out.insert(out.end(), {answers.forgotten, answers.other_rule});
}

}  // namespace scoll::detail
