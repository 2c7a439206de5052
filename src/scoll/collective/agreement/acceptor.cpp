#include "scoll/collective/agreement/acceptor.hpp"

#include "scoll/coro/assert.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

void agreement_acceptor::call(std::span<const std::byte> value) {
  if (!own_) own_.emplace(value.begin(), value.end());
}

bool agreement_acceptor::promise(const ballot& b) {
  if (b < promised_) return false;
  if (SCOLL_MUTANT(agree_promise_forgotten, "a member votes under a lower ballot than it has promised"))
    return true;
  promised_ = b;
  return true;
}

bool agreement_acceptor::accept(const ballot& b, const proposal& p) {
  if (!promise(b)) return false;
  if (!decided_) accepted_ = {b, p};
  return true;
}

agreement_answers agreement_acceptor::answer_collect(const ballot& b, std::uint32_t self,
                                                     const rank_set& held) const {
  agreement_answers a;
  if (decided_) {
    a.decided = decision();
  } else if (promised_ > b) {
    a.overtaken_by = promised_;
  } else {
    a.voters = {self};
    a.accepted = accepted_;
    if (accepted_.at.none() && own_ && !held.contains(self)) a.contributions.push_back({{self}, *own_});
  }
  return a;
}

agreement_answers agreement_acceptor::answer_accept(const ballot& b, std::uint32_t self) const {
  agreement_answers a;
  if (decided_) {
    a.decided = decision();
  } else if (accepted_.at == b) {
    a.voters = {self};
  } else {
    a.overtaken_by = promised_;
  }
  return a;
}

/// Every proposal under this or a higher ballot is the same one, so nothing else needs to be kept.
void agreement_acceptor::decide(const proposal& p) {
  if (decided_) return;
  decided_ = true;
  accepted_.what = p;
}

void agreement_acceptor::describe_to(std::vector<std::uint64_t>& out) const {
  out.insert(out.end(), {own_.has_value(), decided_});
  detail::describe_to(out, promised_);
  detail::describe_to(out, accepted_);
}

}  // namespace scoll::detail
