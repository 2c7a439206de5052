#include "scoll/collective/bulks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "scoll/collective/limits.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

bool is_earlier_round(const operation_id& one, const operation_id& other) noexcept {
  return one.root == other.root && one.incarnation == other.incarnation && one.counter == other.counter &&
         one.attempt < other.attempt;
}

}  // namespace

engine::bulks::~bulks() {
  stop();
  SCOLL_ASSERT(running_.empty(), "a node was destroyed while bulk data were on their way");
}

// ---- the operations of this node

/// A broadcast may come in the step in which the one before it ends. Whether it does is luck, and memory must
/// not depend on it: from the first one on there is enough for two, which take turns, so that both soon have
/// what they need.
operation_bulk& engine::bulks::acquire() {
  if (all_.empty()) owner_.pools_->provide_for_one_more();
  while (free_.empty() || all_.size() < 2) {
    free_.reserve(all_.size() + 1);
    running_.reserve(all_.size() + 1);
    free_.push_back(all_.emplace_back(std::make_unique<operation_bulk>(owner_)).get());
  }
  operation_bulk& taken = *free_.front();
  free_.erase(free_.begin());
  return taken;
}

void engine::bulks::enter(operation_bulk& bulk) {
  running_.push_back(&bulk);
  const collective_head& head = bulk.subject().head;
  for (auto next = reading_.begin(); next != reading_.end();) {
    const auto r = next++;
    if (r->of != nullptr || r->group != head.group) continue;
    if (r->operation == head.operation) {
      r->of = &bulk;
    } else if (is_earlier_round(r->operation, head.operation)) {
      refuse(*r, error(errc::stale_descriptor, "this round has not come here, and a later one has"));
    }
  }
}

void engine::bulks::release(operation_bulk& bulk) noexcept {
  bulk.clear();
  std::erase(running_, &bulk);
  free_.push_back(&bulk);
}

operation_bulk* engine::bulks::find(const group_id& group, const operation_id& operation) noexcept {
  const auto found = std::ranges::find_if(running_, [&](const operation_bulk* bulk) {
    const collective_head& head = bulk->subject().head;
    return head.group == group && head.operation == operation;
  });
  return found == running_.end() ? nullptr : *found;
}

void engine::bulks::decided(operation_bulk& bulk) noexcept {
  for (auto next = reading_.begin(); next != reading_.end();) {
    const auto r = next++;
    if (r->of == &bulk) answer(*r);
  }
}

void engine::bulks::refused(const collective_head& head) noexcept {
  for (auto next = reading_.begin(); next != reading_.end();) {
    const auto r = next++;
    if (r->of == nullptr && r->group == head.group && r->operation == head.operation) {
      refuse(*r, make_error(errc::stale_descriptor, "node {} does not take part in the broadcast",
                            owner_.options_.id));
    }
  }
}

transport::message& engine::bulks::make_request(const operation_bulk& bulk, nanoseconds wait,
                                                bool declines) const {
  const collective_head& said = bulk.subject().head;
  collective_head head;
  head.kind = static_cast<std::uint8_t>(collective_kind::bulk);
  head.group = said.group;
  head.operation = said.operation;
  head.root_rank = said.root_rank;
  head.remaining_ns = static_cast<std::uint64_t>(wait.count());
  head.flags = declines ? collective_head::declines_bulk : std::uint16_t{0};
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  m.copy_payload({}, wire::checksum({}));
  return m;
}

void engine::bulks::decline(const operation_bulk& bulk, node_id source, nanoseconds wait) noexcept {
  if (SCOLL_MUTANT(decline_untold, "a member that takes no bulk data does not tell its sources")) return;
  transport::session* const session = owner_.endpoint_.find(source);
  if (session == nullptr) return;
  auto unused = std::ranges::find_if(declining_, [](const auto& d) { return !d->pending(); });
  if (unused == declining_.end()) unused = declining_.insert(unused, std::make_unique<refusal>());
  // If it cannot be sent, the source waits until its time is over.
  session->request(**unused, transport::traffic_class::collective, make_request(bulk, wait, true), 0)
      .ignore();
}

// ---- other members

std::size_t engine::bulks::early_readers() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(reading_, [](const reader& r) { return r.of == nullptr; }));
}

std::size_t engine::bulks::early_readers_of(node_id node) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(reading_, [&](const reader& r) { return r.of == nullptr && r.node == node; }));
}

error engine::bulks::why_no_room(node_id node) const {
  const std::size_t all = early_readers();
  const std::size_t from_node = early_readers_of(node);
  if (from_node < max_early_readers_of_member && all < owner_.options_.max_operations) return {};
  return make_error(errc::busy,
                    "{} requests for bulk data wait here for their broadcast, {} of them of node {}", all,
                    from_node, node);
}

error engine::bulks::serve(transport::request_view& request, const collective_head& head) {
  const node_id node = request.from().peer();
  const auto group = owner_.groups_.find(head.group);
  if (group != nullptr && !group->members->rank_of(node))
    return make_error(errc::not_member, "node {} is not in the group", node);
  const auto is_repeated = [&](const reader& r) {
    return r.node == node && r.group == head.group && r.operation == head.operation;
  };
  if (std::ranges::any_of(reading_, is_repeated))
    return make_error(errc::already_exists, "node {} has asked for these bulk data", node);
  operation_bulk* const bulk = find(head.group, head.operation);
  if (bulk == nullptr) {
    const bool own = head.operation.root == owner_.options_.id;
    if (own || (group != nullptr && owner_.has_seen(*group, head))) {
      return make_error(errc::stale_descriptor, "the broadcast has ended on node {}", owner_.options_.id);
    }
    if (SCOLL_MUTANT(early_reader_refused, "who asks for bulk data before the broadcast comes is refused"))
      return {errc::stale_descriptor, "the broadcast has not come"};
    if (const error full = why_no_room(node)) return full;
  }
  if (unused_.empty()) {
    unused_.emplace_back(*this);
    unused_.back().self = unused_.begin();
  }
  reading_.splice(reading_.end(), unused_, unused_.begin());
  reader& r = reading_.back();
  r.group = head.group;
  r.operation = head.operation;
  r.node = node;
  r.until = saturating_add(
      owner_.executor_.now(),
      nanoseconds(static_cast<std::int64_t>(std::min(head.remaining_ns, longest_extension_ns))));
  r.of = bulk;
  r.answered = false;
  r.declines = (head.flags & collective_head::declines_bulk) != 0;
  request.accept(r);
  r.release_credit();
  if (r.declines) {
    transport::message& m = owner_.endpoint_.acquire_message();
    m.set_head_bytes(0);
    m.copy_payload({}, wire::checksum({}));
    r.reply(m);
  }
  if (bulk != nullptr) answer(r);
  rearm();
  return {};
}

/// Gives a reader the memory, or tells it that there is none, once that is known.
void engine::bulks::answer(reader& r) noexcept {
  if (r.of->undecided()) return;
  if (r.declines) {
    r.of->reader_done(r.node);
    return remove(r);
  }
  const auto memory = r.of->memory_for(r.node);
  if (!memory) {
    if (!SCOLL_MUTANT(refused_reader_awaited, "a source waits for a reader that it has refused"))
      r.of->reader_done(r.node);  // it asks others, and comes no more
    return refuse(r, memory.error());
  }
  if (std::exchange(r.answered, true)) return;
  transport::message& m = owner_.endpoint_.acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), *memory));
  m.copy_payload({}, wire::checksum({}));
  r.reply_part(m);
}

void engine::bulks::refuse(reader& r, const error& why) noexcept {
  if (r.open()) r.refuse(why);
  remove(r);
}

void engine::bulks::remove(reader& r) noexcept {
  unused_.splice(unused_.begin(), reading_, r.self);
}

/// The reader needs nothing more, or its node is gone.
void engine::bulks::reader::on_parent_cancelled(const transport::cancel_reason&) noexcept {
  drop();
  // Until the broadcast has come and given its memory, it does not know its readers. It is told then.
  if (of == nullptr || of->undecided()) {
    declines = true;
    return;
  }
  operation_bulk* const bulk = of;
  const node_id who = node;
  owner->remove(*this);
  if (SCOLL_MUTANT(reader_end_unheard, "a source waits for a member that needs nothing more")) return;
  if (bulk != nullptr) bulk->reader_done(who);
}

void engine::bulks::gone(node_id node) noexcept {
  for (auto next = reading_.begin(); next != reading_.end();) {
    reader& r = *next++;
    if (r.node != node) continue;
    if (r.open()) r.drop();
    remove(r);
  }
  for (operation_bulk* const bulk : running_) bulk->reader_done(node);
}

void engine::bulks::ended_below(const group_id& group, const operation_id& latest,
                                std::uint64_t counter) noexcept {
  const auto has_ended = [&](const group_id& g, const operation_id& o) {
    return g == group && o.root == latest.root && o.incarnation == latest.incarnation && o.counter < counter;
  };
  for (operation_bulk* const bulk : running_) {
    const collective_head& head = bulk->subject().head;
    if (has_ended(head.group, head.operation)) bulk->nobody_reads();
  }
}

void engine::bulks::rearm() noexcept {
  time_point next = never;
  for (const reader& r : reading_) {
    if (r.of == nullptr) next = std::min(next, r.until);
  }
  if (timer_.armed()) {
    if (timer_.at() <= next) return;
    owner_.executor_.disarm(timer_);
  }
  if (next != never) owner_.executor_.arm(timer_, next);
}

/// Ends those that have waited long enough for their broadcast.
void engine::bulks::on_timer() noexcept {
  const time_point now = owner_.executor_.now();
  for (auto next = reading_.begin(); next != reading_.end();) {
    reader& r = *next++;
    if (r.of != nullptr || r.until > now) continue;
    refuse(r,
           make_error(errc::stale_descriptor, "the broadcast has not come to node {}", owner_.options_.id));
  }
  rearm();
}

void engine::bulks::stop() noexcept {
  while (!reading_.empty()) refuse(reading_.front(), {errc::closed, "the node is shutting down"});
  for (operation_bulk* const bulk : running_) bulk->nobody_reads();
  for (auto& d : declining_) {
    if (d->pending()) d->cancel();
  }
  if (timer_.armed()) owner_.executor_.disarm(timer_);
}

}  // namespace scoll::detail
