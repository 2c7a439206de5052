#include "scoll/collective/agreement/service.hpp"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/operation/operation.hpp"

namespace scoll::detail {

task<result<agreement_reply>> agreement_service::execute(const request& r, bcast_context& c) {
  const std::shared_ptr<group_state> group = operation::group_of(c);
  agreement_answers answers;
  if (r.kind == agreement_kind::collect) {
    answers = co_await owner_->on_collect(group, r, c);
  } else if (r.kind == agreement_kind::accept) {
    answers = owner_->on_accept(*group, r, c.root_rank());
  } else {
    answers = owner_->on_decided(*group, r, c.root_rank());
  }
  reply mine;
  mine.space = r.space;
  mine.instance = r.instance;
  put(mine, answers);
  co_return mine;
}

/// The contributions that `into` has already are moved, not copied: a root may ask many members directly.
void agreement_service::merge(reply& into, const reply& from) noexcept {
  std::vector<encoded_contribution> parts = std::exchange(into.contributions, {});
  agreement_answers all = taken_from(into);
  join(all, taken_from(from));
  put(into, all);
  parts.insert(parts.end(), std::make_move_iterator(into.contributions.begin()),
               std::make_move_iterator(into.contributions.end()));
  into.contributions = std::move(parts);
}

void agreement_service::finish(reply& r, bcast_context& c) noexcept {
  owner_->condense(*operation::group_of(c), r);
}

}  // namespace scoll::detail
