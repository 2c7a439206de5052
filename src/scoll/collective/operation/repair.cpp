#include "scoll/collective/operation/repair.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/operation/fold.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/subset.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/tree/flat.hpp"
#include "transport/session/session.hpp"

namespace scoll::detail {
namespace {

/// The bytes that the creation of a delayed group may take beside a request.
std::size_t riding_bytes(const group_state& group) {
  return group.holders != nullptr ? group.riding_bytes() : 0;
}

}  // namespace

error why_no_repair(const bcast_options& options, const addressees& to) {
  const auto beside = [](std::string_view what) {
    return make_error(errc::unsupported, "a broadcast {} is not repaired", what);
  };
  if (!options.until.is_everyone()) return beside("that ends with a quorum");
  if (options.last) return beside("that is the last of its root");
  if (options.same_view) return beside("to members that see the same alive");
  if (!to.group->admits_new_lives()) return {};
  const std::uint32_t members = to.subset != nullptr ? to.subset->size() : to.group->members->size();
  const std::size_t ranks = to.subset != nullptr ? to.subset->encoded().size() : 0;
  const std::size_t needed = life_tags::bytes_of(members) + ranks + riding_bytes(*to.group);
  if (needed <= max_subset_bytes) return {};
  return make_error(errc::unsupported,
                    "a broadcast to {} members whose new lives can take part is not repaired: {} bytes would "
                    "name them, {} fit",
                    members, needed, max_subset_bytes);
}

/// A member of a group that its next lives can enter executes in the life that is known when the broadcast begins.
broadcast_repair::broadcast_repair(operation& op) : op_(op) {
  operation_subject& s = op_.subject_;
  if (!s.group->admits_new_lives()) return;
  s.head.flags |= collective_head::lives;
  std::vector<life_tag> known;
  known.reserve(s.members);
  for (std::uint32_t r = 0; r != s.members; ++r) known.push_back(present_life(r));
  permits_.begin(std::move(known));
}

broadcast_repair::~broadcast_repair() {
  SCOLL_ASSERT(rounds_.empty(), "a broadcast ends after its rounds");
}

/// The tag of the latest life of which this node has heard, by liveness or by a connection. If it has heard of none,
/// any life.
life_tag broadcast_repair::present_life(std::uint32_t relative) const {
  engine& e = *op_.engine_;
  const node_id node = op_.subject_.group->members->node(op_.subject_.rank_at(relative));
  const transport::session* const peer = e.wire().find(node);
  const std::uint64_t met = peer != nullptr ? peer->peer_incarnation() : 0;
  const std::uint64_t latest = std::max(met, e.lives().latest(node));
  return latest == 0 ? for_any_life : tag_of_life(latest);
}

std::byte* broadcast_repair::write_permits(std::byte* at) const {
  const operation_subject& s = op_.subject_;
  const bool of_any = SCOLL_MUTANT(first_round_untagged, "only further rounds say which life may execute");
  return life_tags::write(at, s.members, [&](std::uint32_t index) {
    return of_any ? for_any_life : permits_.of(to_relative(index, s.root, s.members));
  });
}

/// Members have three quarters of a deadline for the first round. Without one, each kind of round has its time.
void broadcast_repair::set_times() {
  operation_times& t = op_.times_;
  if (t.by_deadline) {
    if (SCOLL_MUTANT(slack_not_kept, "the first round may use all of a deadline")) return;
    t.first_round_ends = t.started + (t.expires - t.started) / 4 * 3;
    return;
  }
  const std::int64_t levels = op_.subject_.levels();
  t.expires = saturating_add(t.expires, (levels + 2) * (t.rtt + t.margin) + 2 * (t.processing + t.bulk));
}

void broadcast_repair::go_on() {
  for (auto at = rounds_.begin(); at != rounds_.end();) {
    if (!at->round->answered()) {
      ++at;
      continue;
    }
    take(*at->round);
    at = rounds_.erase(at);
  }
  if (op_.out_of_time() || begun_ == most_rounds || rounds_.size() == most_at_once || find_open().empty()) {
    due_ = never;
    ripe_ = false;
    return;
  }
  const time_point now = op_.engine_->get_executor().now();
  if (ripe_ || op_.all_settled()) return begin_rounds();
  if (due_ != never) return;
  due_ = now + op_.times_.rtt;
  op_.rearm();
}

void broadcast_repair::hurry() noexcept {
  due_ = never;
  ripe_ = true;
  op_.progress_.set();
}

void broadcast_repair::heard() noexcept {
  op_.progress_.set();
}

void broadcast_repair::end_by(end_cause cause, const error& reason) noexcept {
  due_ = never;
  for (const asking& a : rounds_) a.round->end_by(cause, reason);
}

task<void> broadcast_repair::join() {
  due_ = never;
  while (!rounds_.empty()) {
    op_.progress_.reset();
    const auto is_over = [](const asking& a) { return a.round->answered(); };
    while (!std::ranges::all_of(rounds_, is_over)) {
      co_await op_.progress_.wait();
      op_.progress_.reset();
    }
    for (const asking& a : std::exchange(rounds_, {})) take(*a.round);
  }
}

// ---- who is asked

bool broadcast_repair::is_held_dead(std::uint32_t relative) const {
  const node_id node = op_.subject_.group->members->node(op_.subject_.rank_at(relative));
  return op_.engine_->lives().is_dead(node);
}

bool broadcast_repair::is_asked_now(std::uint32_t relative) const {
  return std::ranges::any_of(rounds_, [&](const asking& a) { return a.members.contains(relative); });
}

broadcast_repair::open_members broadcast_repair::find_open() const {
  const operation_subject& s = op_.subject_;
  open_members open;
  const auto is_merged = [](const member_report& run) { return run.state == member_state::merged; };
  const bool asks_all = SCOLL_MUTANT(round_asks_merged, "members that are merged are asked again");
  if (std::ranges::all_of(op_.outcome_.runs(), is_merged)) return open;
  outcome_builder account = op_.outcome_;
  account.normalise();
  for (const member_report& run : account.runs()) {
    const settled_member m{run.state, account.causes()[run.cause_index], false};
    if (!is_open(m) && !(asks_all && is_merged(run))) continue;
    for (std::uint32_t r = run.members.first; r != run.members.last; ++r) {
      if (r == 0 || final_.contains(r) || is_asked_now(r) || is_held_dead(r)) continue;
      const bool lost = asked_.contains(r) || s.tree.parent(s.members, r) == m.why.reporter;
      rank_set& into = lost ? open.lost : open.others;
      if (!has_room_beside(into)) continue;
      into.append(r, r + 1);
      if (run.state == member_state::not_reached) open.untouched.append(r, r + 1);
    }
  }
  if (open.others.size() <= most_in_flat_round) open.lost = open.lost | std::exchange(open.others, {});
  return open;
}

/// True if a round that asks these members can ask one more.
bool broadcast_repair::has_room_beside(const rank_set& members) const {
  const std::size_t runs = members.ranges().size();
  if (!permits_.needed()) return runs < most_runs;
  // The root is asked as well, and ranks may wrap round the end of the membership.
  const std::size_t ranks = 2 + (runs + 3) * bytes_of_a_run;
  return ranks + life_tags::bytes_of(members.size() + 2) + riding_bytes(*op_.subject_.group) <=
         max_subset_bytes;
}

// ---- the rounds

void broadcast_repair::begin_rounds() {
  ripe_ = false;
  due_ = never;
  const open_members open = find_open();
  final_ = final_ | open.lost;
  if (!open.lost.empty()) begin_round(open.lost, open.untouched, true);
  if (open.others.empty() || begun_ == most_rounds || rounds_.size() == most_at_once) return;
  asked_ = asked_ | open.others;
  begin_round(open.others, open.untouched, false);
}

/// If there is no place or memory for a round, the members stay as they are.
bool broadcast_repair::begin_round(const rank_set& members, const rank_set& untouched, bool flat) {
  operation* const round = make_round(members, untouched, flat);
  if (round == nullptr) return false;
  rounds_.push_back({round, members});
  ++op_.statistics().repair_rounds;
  round->stage_ = operation::stage::running;
  round->engine_->scope_->spawn(round->run());
  return true;
}

operation* broadcast_repair::make_round(const rank_set& members, const rank_set& untouched, bool flat) {
  const operation_subject& s = op_.subject_;
  engine& e = *op_.engine_;
  std::vector<std::uint32_t> ranks{s.group->self_rank};
  members.for_each([&](std::uint32_t r) { ranks.push_back(s.rank_at(r)); });
  std::ranges::sort(ranks);
  rank_set asked;
  for (const std::uint32_t rank : ranks) asked.append(rank, rank + 1);
  const auto among = subset::make(std::move(asked), s.group->members->size());
  if (!among) return nullptr;
  const tree_spec tree = flat ? tree_spec(scoll::flat{}) : s.group->tree;
  tree_fault fault = tree_fault::none;
  const any_tree* const resolved = s.group->resolve(tree, *among, s.group->self_rank, fault);
  operation* const round = resolved != nullptr ? e.acquire(collective_kind::broadcast) : nullptr;
  if (round == nullptr) return nullptr;
  collective_head& head = round->subject_.head;
  head = s.head;
  head.operation.attempt = ++begun_;
  head.flags = static_cast<std::uint16_t>(head.flags & ~(collective_head::living | collective_head::trace));
  if (flat) head.flags |= collective_head::direct;
  head.subset_digest = (*among)->digest();
  head.subset_bytes = static_cast<std::uint16_t>((*among)->encoded().size());
  round->subject_.as = operation_subject::role::root;
  round->own_.elsewhere = round->own_.settled = true;
  round->root_.round_of = this;
  round->caller_ = op_.caller_;
  round->counter = op_.counter;
  round->bind(s.group, *among, s.service, *resolved, 0);
  status ready = round->parts().set_aside();
  if (ready) ready = give_request(*round, untouched, flat);
  if (!ready) {
    e.retire(*round);
    return nullptr;
  }
  round->times_ = op_.times_;
  round->times_.first_round_ends = never;
  const nanoseconds level = op_.times_.rtt + op_.times_.margin;
  if (!op_.times_.by_deadline) {
    const nanoseconds longest = round->subject_.levels() * level + op_.times_.processing + op_.times_.bulk;
    round->times_.expires = std::min(op_.times_.expires, saturating_add(e.get_executor().now(), longest));
  }
  if (op_.bulk_ != nullptr) round->offer_bulk_again(*op_.bulk_);
  round->rearm();
  return round;
}

/// The request of a round is that which `prepare` has left on the root. An untouched member that the root asks itself
/// may execute in any life. Over a tree its present life may, so that it can be asked once more if that round loses it.
status broadcast_repair::give_request(operation& round, const rank_set& untouched, bool flat) {
  transport::buffer_ref buffer = op_.engine_->wire().acquire_payload();
  if (!buffer) return op_.engine_->wire().no_payload_left("a request that is repeated");
  const subset& among = *round.subject_.subset;
  if (permits_.needed() && among.encoded().size() + life_tags::bytes_of(among.size()) > max_subset_bytes)
    return error(errc::too_large, "the ranks of a round leave no room for the lives of its members");
  std::byte* at = std::ranges::copy(among.encoded(), buffer.data()).out;
  const auto permit = [&](std::uint32_t index) {
    const std::uint32_t r = *op_.subject_.relative_of(among.rank_at(index));
    return permits_.give(r, untouched.contains(r), flat ? for_any_life : present_life(r));
  };
  if (permits_.needed()) at = life_tags::write(at, among.size(), permit);
  at = std::ranges::copy(op_.request_part(), at).out;
  const std::span<const std::byte> bytes(buffer.data(), at);
  round.request_.forwarded = {std::move(buffer), bytes};
  return {};
}

/// Folds the account of a round that has ended, and its value.
void broadcast_repair::take(operation& round) {
  const operation_subject &from = round.subject_, &to = op_.subject_;
  outcome_builder later;
  const auto relative = [&](std::uint32_t in_round) { return *to.relative_of(from.rank_at(in_round)); };
  const auto add = [&](std::uint32_t in_round, member_state state, cause why) {
    if (in_round == 0) return;  // this node, whose part is no part of a round
    const std::uint32_t r = relative(in_round);
    if (state == member_state::merged) return later.add({r, r + 1}, state);
    why.reporter = why.reporter < from.members ? relative(why.reporter) : 0;
    later.add({r, r + 1}, state, later.add_cause(why));
  };
  for (std::uint32_t r = 1; round.result_.clean && r != from.members; ++r) add(r, member_state::merged, {});
  for (const member_report& run : round.outcome_.runs()) {
    for (std::uint32_t r = run.members.first; !round.result_.clean && r != run.members.last; ++r)
      add(r, run.state, round.outcome_.causes()[run.cause_index]);
  }
  fold_into(op_.outcome_, later);
  op_.values_.merge_all_of(round.values_);
  op_.engine_->release(round);
}

}  // namespace scoll::detail
