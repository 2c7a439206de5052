#include "scoll/collective/agreement/service.hpp"

#include <memory>

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

void agreement_service::merge(reply& into, const reply& from) noexcept {
  agreement_answers all = taken_from(into);
  join(all, taken_from(from));
  put(into, all);
}

void agreement_service::finish(reply& r, bcast_context& c) noexcept {
  owner_->condense(*operation::group_of(c), r);
}

}  // namespace scoll::detail
