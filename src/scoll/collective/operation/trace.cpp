#include "scoll/collective/operation/trace.hpp"

#include <algorithm>

#include "scoll/collective/limits.hpp"
#include "scoll/collective/trace/placement.hpp"

namespace scoll::detail {

operation_trace::operation_trace(const executor& clock, std::size_t children)
    : clock_(clock), began_(clock.exact_now()) {
  own_.children.resize(children);
}

std::unique_ptr<operation_trace> operation_trace::begin(const executor& clock, std::size_t children) {
  return std::make_unique<operation_trace>(clock, children);
}

std::uint64_t operation_trace::now() const noexcept {
  return static_cast<std::uint64_t>((clock_.exact_now() - began_).count());
}

void operation_trace::prepared() noexcept {
  own_.prepared = std::min(own_.prepared, now());
}

void operation_trace::begun() noexcept {
  prepared();  // without children nothing has been passed on before
  own_.begun = now();
}

void operation_trace::ended() noexcept {
  if (!over_) own_.ended = now();
}

void operation_trace::answered() noexcept {
  own_.answered = now();
  over_ = true;
}

void operation_trace::sent(std::size_t child) noexcept {
  own_.children[child] = {now(), trace_record::never};
}

status operation_trace::heard(const operation_subject& subject, const operation_child& c, std::size_t index,
                              const collective_reply_head& head, std::span<const std::byte>& payload) {
  if (!over_) own_.children[index].answered = now();
  if (head.trace_bytes == 0) {
    dropped_ += c.nodes;
    return {};
  }
  if (head.trace_bytes > payload.size())
    return error(errc::malformed, "the trace of a reply is longer than the reply");
  const auto block = read_block(payload.last(head.trace_bytes), subject.tree, subject.members, c.relative);
  if (!block) return block.error();
  payload = payload.first(payload.size() - head.trace_bytes);
  const auto before = static_cast<std::uint32_t>(below_.size());
  below_.insert(below_.end(), block->records.begin(), block->records.end());
  for (const std::uint32_t end : block->ends) ends_.push_back(before + end);
  dropped_ += block->dropped;
  return {};
}

std::size_t operation_trace::encode(std::uint32_t self, std::span<std::byte> room) {
  room = room.first(std::min(room.size(), trace_limit));
  if (room.size() < trace_block::head_bytes) return 0;
  own_.member = self;
  wire::writer own(room.subspan(trace_block::head_bytes));
  put_record(own, own_);
  const bool fits = own.ok();
  const std::size_t before = trace_block::head_bytes + (fits ? own.needed() : 0);
  const std::size_t left = fits ? room.size() - before : 0;
  const auto kept = std::ranges::upper_bound(ends_, left) - ends_.begin();
  const std::size_t bytes = kept == 0 ? 0 : ends_[static_cast<std::size_t>(kept) - 1];
  std::copy_n(below_.begin(), bytes, room.begin() + static_cast<std::ptrdiff_t>(before));
  const auto cut = static_cast<std::uint32_t>(ends_.size() - static_cast<std::size_t>(kept)) + !fits;
  put_block_head(room.first<trace_block::head_bytes>(), dropped_ + cut);
  return before + bytes;
}

collective_trace operation_trace::place(const operation_subject& subject) const {
  trace_record own = own_;
  if (!over_) own.answered = now();
  return place_trace(subject, own, below_, dropped_);
}

std::shared_ptr<const collective_trace> operation_trace::tell(const operation_subject& subject) {
  if (told_ == nullptr) told_ = std::make_shared<collective_trace>(place(subject));
  return told_;
}

void operation_trace::complete(const operation_subject& subject) {
  if (told_ != nullptr) *told_ = place(subject);
}

}  // namespace scoll::detail
