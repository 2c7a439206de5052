#include "scoll/collective/agreement/messages.hpp"

#include "scoll/collective/agree.hpp"
#include "scoll/collective/membership.hpp"

namespace scoll::detail {

bool wire_valid(const encoded_ranks& ranks) noexcept {
  if (ranks.numbers.size() % 2 != 0) return false;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < ranks.numbers.size(); i += 2) {
    const std::uint64_t gap = ranks.numbers[i].value, size = ranks.numbers[i + 1].value;
    const bool touches = i != 0 && gap == 0;
    if (touches || size == 0 || gap > max_members || size > max_members || end + gap + size > max_members)
      return false;
    end += gap + size;
  }
  return true;
}

bool wire_valid(const encoded_proposal& p) noexcept {
  return p.value.size() <= max_agreed_bytes;
}

bool wire_valid(const encoded_contribution& c) noexcept {
  return c.value.size() <= max_agreed_bytes && !c.from.numbers.empty();
}

bool wire_valid(const agreement_request& r) noexcept {
  if (r.kind > agreement_kind::decided || r.space > agreement_space::shrink ||
      r.rule > quorum_rule::survivors || r.reserved != 0)
    return false;
  const bool collects = r.kind == agreement_kind::collect;
  const bool decided = r.kind == agreement_kind::decided;
  return r.what.has_value() != collects && (r.round == 0) == decided && (collects || r.held.numbers.empty());
}

bool wire_valid(const agreement_reply& r) noexcept {
  return r.space <= agreement_space::shrink && r.accepted.has_value() == (r.accepted_round != 0);
}

encoded_ranks encoded(const rank_set& ranks) {
  encoded_ranks e;
  e.numbers.reserve(2 * ranks.ranges().size());
  std::uint32_t end = 0;
  for (const rank_range& r : ranks.ranges()) {
    e.numbers.push_back({r.first - end});
    e.numbers.push_back({r.size()});
    end = r.last;
  }
  return e;
}

rank_set decoded(const encoded_ranks& ranks) {
  rank_set set;
  std::uint32_t end = 0;
  for (std::size_t i = 0; i + 1 < ranks.numbers.size(); i += 2) {
    const auto first = end + static_cast<std::uint32_t>(ranks.numbers[i].value);
    end = first + static_cast<std::uint32_t>(ranks.numbers[i + 1].value);
    set.append(first, end);
  }
  return set;
}

encoded_proposal encoded(const proposal& p) {
  return {p.value, encoded(p.failed), p.creator, p.incarnation, p.counter};
}

proposal decoded(const encoded_proposal& p) {
  return {p.value, decoded(p.failed), p.creator, p.incarnation, p.counter};
}

void put(agreement_reply& into, const agreement_answers& answers) {
  into.forgotten = answers.forgotten;
  into.other_rule = answers.other_rule;
  into.overtaken_round = answers.overtaken_by.round;
  into.overtaken_rank = answers.overtaken_by.rank;
  into.accepted_round = answers.accepted.at.round;
  into.accepted_rank = answers.accepted.at.rank;
  into.voters = encoded(answers.voters);
  into.accepted.reset();
  into.decided.reset();
  if (!answers.accepted.at.none()) into.accepted = encoded(answers.accepted.what);
  if (answers.decided) into.decided = encoded(*answers.decided);
  into.contributions.clear();
  for (const contribution& c : answers.contributions)
    into.contributions.push_back({encoded(c.from), c.value});
}

agreement_answers taken_from(const agreement_reply& reply) {
  agreement_answers a;
  a.forgotten = reply.forgotten;
  a.other_rule = reply.other_rule;
  a.overtaken_by = {reply.overtaken_round, reply.overtaken_rank};
  if (reply.accepted) a.accepted = {{reply.accepted_round, reply.accepted_rank}, decoded(*reply.accepted)};
  a.voters = decoded(reply.voters);
  if (reply.decided) a.decided = decoded(*reply.decided);
  for (const encoded_contribution& c : reply.contributions)
    a.contributions.push_back({decoded(c.from), c.value});
  return a;
}

}  // namespace scoll::detail
