#include "scoll/collective/operation/reply_stream.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "scoll/collective/item_gather.hpp"
#include "scoll/collective/item_run.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

constexpr std::size_t widest = 4;

/// Stands for the number of items of a member that has put all of them.
constexpr std::uint64_t at_end = std::numeric_limits<std::uint64_t>::max();

/// The first of these sorted ranges that ends behind a rank.
auto find_range(auto& ranges, std::uint32_t rank) {
  return std::ranges::upper_bound(ranges, rank, std::less<>{}, &rank_range::last);
}

bool is_in(const std::vector<rank_range>& ranges, std::uint32_t rank) {
  const auto at = find_range(ranges, rank);
  return at != ranges.end() && at->first <= rank;
}

/// Takes a rank that lies in one of these sorted ranges out of it.
void take_out(std::vector<rank_range>& ranges, std::uint32_t rank) {
  const auto at = find_range(ranges, rank);
  const rank_range before{at->first, rank}, behind{rank + 1, at->last};
  if (before.size() != 0 && behind.size() != 0) {
    *at = behind;
    ranges.insert(at, before);
  } else if (before.size() + behind.size() == 0) {
    ranges.erase(at);
  } else {
    *at = before.size() != 0 ? before : behind;
  }
}

}  // namespace

reply_stream::reply_stream(operation& op)
    : op_(op), sink_(op.engine_->wire(), op.progress_, op.stop_->token(), op, &why_over) {}

reply_stream::~reply_stream() {
  if (reader_ != nullptr) reader_->detach();
}

error reply_stream::why_over(const operation& op) noexcept {
  return op.own_.closed ? op.own_.closed : op.why_ended("the items are not awaited any longer");
}

std::size_t reply_stream::bytes_for(std::size_t children, std::size_t window) noexcept {
  return (children * window + own_parts) * transport::max_payload_bytes;
}

std::uint32_t reply_stream::widest_window(std::size_t children, std::size_t room) noexcept {
  std::size_t window = widest;
  while (window > 1 && bytes_for(children, window) > room) --window;
  return static_cast<std::uint32_t>(window);
}

void reply_stream::expect(operation_child& c) {
  if (c.parts == nullptr) c.parts = std::make_unique<child_parts>();
  c.count_parts(window_);
}

void reply_stream::deliver_to(item_gather& reader) noexcept {
  reader_ = &reader;
  reader.attach(*this, op_.subject_);
}

// ---- from children

void reply_stream::hear(operation_child& c, const collective_reply_head& head,
                        transport::reply_event& event) {
  item_part part;
  part.payload = std::move(event.payload);
  const status good = read(c, head, part);
  if (!good) {
    c.cancel(errc::malformed);
    c.lose(good.error(), true);
    return op_.progress_.set();
  }
  part.checksum = event.payload_checksum ? *event.payload_checksum : wire::checksum(part.payload.bytes);
  part.payload = op_.engine_->wire().keep(std::move(part.payload));
  part.child = op_.children_.index_of(c);
  queue_.push_back(std::move(part));
  if (SCOLL_MUTANT(part_allowed_at_once, "a child may send on before what it has sent was passed on"))
    c.allow_part();
  op_.progress_.set();
}

status reply_stream::read(operation_child& c, const collective_reply_head& head, item_part& into) {
  constexpr std::uint8_t flags = collective_reply_head::parts_follow | collective_reply_head::items;
  if (head.flags != flags || head.account_bytes != 0 || head.values == 0)
    return error(errc::malformed, "the head of a part with items is not that of one");
  into.runs = head.values;
  if (!c.parts->begun) {
    op_.collect_ranges(c, c.parts->unsettled);
    c.parts->begun = true;
  }
  return take_over(c, into.payload.bytes, into);
}

/// Checks that the items continue those before, and settles the members that are at their end.
status reply_stream::take_over(operation_child& c, std::span<const std::byte> bytes, item_part& into) {
  std::vector<rank_range>& unsettled = c.parts->unsettled;
  wire::reader in(bytes);
  for (std::uint16_t i = 0; i < into.runs; ++i) {
    const item_run run = take_run(in);
    if (!in.ok()) return in.error();
    if (!is_in(unsettled, run.relative))
      return error(errc::malformed, "items of a member that has none to put");
    std::uint64_t& count = items_of_[run.relative];
    if (run.first != count || count == at_end)
      return error(errc::malformed, "items are missing, or come again");
    count = run.last ? at_end : count + run.count;
    if (run.last) into.ended.push_back(run.relative);
  }
  in.finish();
  if (!in.ok()) return in.error();
  for (const std::uint32_t member : into.ended) {
    take_out(unsettled, member);
    items_of_.erase(member);
    holder_set* const holders = op_.subject_.group->holders.get();
    if (holders != nullptr) holders->insert(op_.subject_.rank_at(member));
  }
  return {};
}

// ---- to the parent, or the reader

void reply_stream::pass_on() {
  while (!op_.out_of_time()) {
    if (may_leave() || sink_.is_full()) queue_own();
    if (queue_.empty() || !may_leave()) return;
    if (op_.subject_.is_root()) {
      item_part part = std::move(queue_.front());
      queue_.pop_front();
      deliver(std::move(part));
    } else {
      send_some();
    }
  }
}

bool reply_stream::may_leave() const noexcept {
  if (op_.subject_.is_root()) return reader_ != nullptr;
  return op_.open() && (op_.parts_left() != 0 || SCOLL_MUTANT(part_window_ignored));
}

/// Moves what this node has put to the end of the queue.
void reply_stream::queue_own() {
  const bool ends = own_ == own_stream::returned;
  if (own_queued_ != 0 || (sink_.empty() && !ends)) return;
  item_part part;
  part.payload = sink_.take(op_.subject_.relative, ends);
  part.checksum = wire::checksum(part.payload.bytes);
  part.runs = 1;
  if (ends) {
    own_ = own_stream::ended;
    part.ended.push_back(op_.subject_.relative);
  }
  ++own_queued_;
  queue_.push_back(std::move(part));
  sink_.refill();
}

/// Sends the first part of the queue, together with those behind it if they are small.
void reply_stream::send_some() {
  std::size_t parts = count_that_fit();
  if (parts > 1 && !join(parts)) parts = 1;
  item_part leaving = std::move(queue_.front());
  queue_.pop_front();
  collective_reply_head head;
  head.flags = collective_reply_head::parts_follow | collective_reply_head::items;
  head.values = leaving.runs;
  transport::message& m = op_.engine_->wire().acquire_message();
  m.set_head_bytes(*wire::encode_to(m.head_space(), head));
  if (leaving.payload.bytes.size() <= transport::message::inline_payload_bytes) {
    m.copy_payload(leaving.payload.bytes, leaving.checksum);
  } else {
    m.share_payload(std::move(leaving.payload), leaving.checksum);
  }
  ++op_.statistics().reply_parts;
  op_.reply_part(m);
  release(leaving);
}

void reply_stream::release(const item_part& part) noexcept {
  if (part.child == item_part::own) {
    --own_queued_;
    return;
  }
  operation_child& c = op_.children_.all()[part.child];
  if (c.at == operation_child::stage::pending) c.allow_part();
}

std::size_t reply_stream::count_that_fit() const noexcept {
  std::size_t bytes = 0, parts = 0;
  for (const item_part& part : queue_) {
    bytes += part.payload.bytes.size();
    if (bytes > transport::max_payload_bytes) break;
    ++parts;
  }
  return parts;
}

/// Copies the first parts of the queue into the last one of them, and lets go of the others. False if there is
/// no buffer.
bool reply_stream::join(std::size_t parts) {
  transport::buffer_ref buffer = op_.engine_->wire().acquire_payload();
  if (!buffer) return false;
  std::byte* end = buffer.data();
  std::uint16_t runs = 0;
  for (std::size_t i = 1;; ++i) {
    item_part& each = queue_.front();
    end = std::ranges::copy(each.payload.bytes, end).out;
    runs = static_cast<std::uint16_t>(runs + each.runs);
    if (i == parts) break;
    release(each);
    queue_.pop_front();
  }
  const std::span<const std::byte> bytes(buffer.data(), end);
  queue_.front().payload = {std::move(buffer), bytes};
  queue_.front().checksum = wire::checksum(bytes);
  queue_.front().runs = runs;
  return true;
}

void reply_stream::deliver(item_part part) {
  for (const std::uint32_t member : part.ended) op_.outcome_.add({member, member + 1}, member_state::merged);
  if (!part.payload.owner) return release(part);  // the end of this node's own items, and none of them
  reader_->deliver(std::move(part));
}

void reply_stream::taken(std::uint32_t child) noexcept {
  item_part part;
  part.child = child;
  release(part);
  op_.progress_.set();
}

void reply_stream::close() {
  sink_.close();
  if (own_ == own_stream::returned) {
    item_part rest;
    rest.ended.push_back(op_.subject_.relative);
    queue_.push_back(std::move(rest));
    own_ = own_stream::ended;
  }
  for (const item_part& part : queue_) {
    if (part.ended.empty()) continue;
    const std::uint16_t why = op_.note(phase::reply, why_over(op_));
    for (const std::uint32_t member : part.ended)
      op_.outcome_.add({member, member + 1}, member_state::executed, why);
  }
  queue_.clear();
  if (reader_ == nullptr) return;
  reader_->detach();
  std::exchange(reader_, nullptr)->hold(op_.memory_for_parts(), std::exchange(op_.reserved_, 0));
}

}  // namespace scoll::detail
