#include "scoll/collective/item_gather.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/reply_stream.hpp"
#include "scoll/collective/operation/subject.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/tree/tree.hpp"
#include "transport/wire/reader.hpp"

namespace scoll::detail {

namespace {

/// The same outcome, except that one member, which is merged, has executed and nothing more.
outcome lose_reply_of(const outcome& of, std::uint32_t rank, const cause& why) {
  std::vector<member_report> reports = of.reports();
  std::vector<cause> causes = of.causes();
  if (reports.empty()) reports = {{{0, of.members()}, member_state::merged}};
  if (causes.empty()) causes = {cause()};
  outcome_builder runs;
  for (const auto& [members, state, index] : reports) {
    if (rank < members.first || rank >= members.last) {
      runs.add(members, state, index);
      continue;
    }
    if (members.first != rank) runs.add({members.first, rank}, state, index);
    runs.add({rank, rank + 1}, member_state::executed, static_cast<std::uint16_t>(causes.size()));
    if (rank + 1 != members.last) runs.add({rank + 1, members.last}, state, index);
  }
  causes.push_back(why);
  runs.normalise();
  outcome made(of.members(), {runs.runs().begin(), runs.runs().end()}, std::move(causes));
  made.set_dissent(of.dissenting());
  return made;
}

}  // namespace

std::shared_ptr<item_reader> begin_gather(const any_group& to, const service_table& table,
                                          const void* request, const bcast_options& options) {
  auto made = std::make_shared<item_gather>(to, table, request, options);
  if (to.valid()) to.get_engine().spawn(item_gather::run(made));
  return made;
}

item_gather::item_gather(const any_group& to, const service_table& table, const void* request,
                         const bcast_options& options) {
  broadcast_.emplace(to, table, request, options);
  if (!to.valid()) {
    end(broadcast_->result_status(), broadcast_->take_outcome());
    return;
  }
  executor_ = &to.get_engine().get_executor();
  broadcast_->deliver_to(*this);
}

item_gather::~item_gather() {
  give_back();
}

task<void> item_gather::run(std::shared_ptr<item_gather> self) {
  co_await self->broadcast_->ended();
  self->end(self->broadcast_->result_status(), self->broadcast_->take_outcome());
}

void item_gather::attach(reply_stream& from, const operation_subject& subject) {
  from_ = &from;
  root_ = subject.root;
  members_ = subject.members;
  subset_ = subject.subset;
}

std::uint32_t item_gather::rank_at(std::uint32_t relative) const noexcept {
  const std::uint32_t index = to_rank(relative, root_, members_);
  return subset_ != nullptr ? subset_->rank_at(index) : index;
}

// ---- items come

void item_gather::deliver(item_part&& part) {
  const std::uint32_t child = part.child;
  if (given_up_) return from_->taken(child);
  queue_.push_back(std::move(part));
  wake();
}

void item_gather::end(const status& how, outcome account) {
  how_ = how;
  account_ = std::move(account);
  ended_ = true;
  broadcast_.reset();
  for (const loss& each : lost_) settle(each);
  wake();
}

void item_gather::wake() noexcept {
  if (waiting_ == nullptr || !waiting_->advance_(*waiting_)) return;
  item_waiter& who = *std::exchange(waiting_, nullptr);
  who.waiting_ = false;
  executor_->schedule(who.wake_);
}

// ---- items are read

void item_gather::wait(item_waiter& who, std::coroutine_handle<> handle) noexcept {
  SCOLL_ASSERT(waiting_ == nullptr, "two coroutines wait for the next item of one gather");
  who.wake_.set(handle);
  who.waiting_ = true;
  waiting_ = &who;
}

std::optional<item_reader::raw_item> item_gather::take() {
  while (run_.count == 0 || is_lost(rank_)) {
    if (!next_run()) return std::nullopt;
  }
  return raw_item{rank_, run_.take_item()};
}

/// Goes on to the next run of items, which may be in the next part. False if none has come.
bool item_gather::next_run() {
  run_ = {};
  while (!queue_.empty()) {
    const std::span<const std::byte> rest = queue_.front().payload.bytes.subspan(position_);
    if (!rest.empty()) {
      wire::reader in(rest);
      run_ = take_run(in);
      position_ += in.position();
      rank_ = rank_at(run_.relative);
      return true;
    }
    drop_front();
  }
  return false;
}

void item_gather::drop_front() noexcept {
  const std::uint32_t child = queue_.front().child;
  queue_.pop_front();
  position_ = 0;
  if (from_ != nullptr) from_->taken(child);
  if (from_ == nullptr && queue_.empty()) give_back();
}

void item_gather::hold(reply_memory& of, std::size_t bytes) noexcept {
  memory_ = &of;
  held_ = bytes;
  if (queue_.empty()) give_back();
}

void item_gather::give_back() noexcept {
  if (memory_ != nullptr) memory_->give_back(std::exchange(held_, 0));
}

bool item_gather::is_lost(std::uint32_t rank) const noexcept {
  return std::ranges::find(lost_, rank, &loss::rank) != lost_.end();
}

void item_gather::lose(std::uint32_t rank, const error& why) {
  if (is_lost(rank)) return;
  lost_.push_back({rank, why});
  if (ended_) settle(lost_.back());
}

/// Accounts for a member whose items were dropped here, if it is merged.
void item_gather::settle(const loss& lost) {
  if (account_.state(lost.rank) != member_state::merged) return;
  account_ = lose_reply_of(account_, lost.rank, {phase::reply, lost.why, rank_at(0)});
  if (how_) how_ = make_error(errc::incomplete, "reply: {}", describe(lost.why));
}

void item_gather::end_early() noexcept {
  if (broadcast_) broadcast_->end_early();
}

void item_gather::give_up() noexcept {
  given_up_ = true;
  run_ = {};
  while (!queue_.empty()) drop_front();
  end_early();
}

}  // namespace scoll::detail
