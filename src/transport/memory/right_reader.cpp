#include "transport/memory/right_reader.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

staged_reads::staged_reads(endpoint& owner, slab_pool& slabs) : endpoint_(owner), slabs_(slabs) {
  for (std::size_t i = 0; i < slabs.size(); ++i) {
    reads_.push_back(std::make_unique<slab_read>());
    reads_.back()->owner = this;
    free_.push_back(*reads_.back());
  }
  // This is called from inside a completion; the work that follows must not be done there.
  slabs_.on_refill(
      [](void* self) noexcept {
        auto& reads = *static_cast<staged_reads*>(self);
        if (!reads.refill_.scheduled()) reads.endpoint_.get_executor().schedule(reads.refill_);
      },
      this);
}

staged_reads::~staged_reads() {
  slabs_.on_refill(nullptr, nullptr);
  endpoint_.get_executor().unschedule(refill_);
}

void staged_reads::begin(right_reader& r, session& from, const memory_right& right,
                         const lent_range& into) noexcept {
  r.by_ = this;
  r.from_ = &from;
  r.right_ = right;
  r.into_ = into;
  r.posted_ = r.under_way_ = 0;
  r.abandoned_ = false;
  r.failure_ = {};
  pump(r);
  finish_if_idle(r);
}

/// The rest of the extent in which the next byte lies.
remote_extent staged_reads::next_extent(const right_reader& r) const noexcept {
  std::uint32_t before = r.posted_;
  for (const remote_extent& e : r.right_.view()) {
    if (before < e.length) return {e.address + before, e.key, e.length - before};
    before -= e.length;
  }
  return {};
}

/// Posts as many READs as there are slabs. The link may have been replaced since the right was given.
void staged_reads::pump(right_reader& r) noexcept {
  while (!r.failure_ && !r.abandoned_ && r.posted_ < r.into_.size) {
    remote_access* const link = r.from_->remote();
    if (link == nullptr || link->link_id() != r.right_.link) {
      r.failure_ = {errc::connection_lost, "the link that the right belongs to is gone"};
      return;
    }
    slab* const memory = slabs_.try_acquire();
    if (memory == nullptr) {
      if (!r.linked()) waiting_.push_back(r);
      return;
    }
    remote_extent from = next_extent(r);
    from.length = std::min<std::uint32_t>(from.length, static_cast<std::uint32_t>(slabs_.slab_bytes()));
    slab_read& read = free_.pop_front();
    read.link = link;
    read.memory = memory;
    read.reader = &r;
    read.offset = r.posted_;
    read.from = from;
    read.into = {memory->memory.bytes.first(from.length), memory->memory.in};
    posted_.push_back(read);
    r.posted_ += from.length;
    ++r.under_way_;
    link->read(read);
  }
}

void staged_reads::give_back(slab_read& read) noexcept {
  read.list_hook<slab_read>::unlink();
  free_.push_front(read);
  slabs_.release(*read.memory);
}

void staged_reads::completed(slab_read& read, const status& outcome) noexcept {
  right_reader& r = *read.reader;
  const std::uint32_t size = read.from.length;
  if (!outcome && !r.failure_) r.failure_ = outcome.error();
  if (outcome) endpoint_.memory().count_read(size);
  if (outcome && !r.abandoned_) {
    r.into_.memory->copy_in(r.into_.offset + read.offset, read.into.bytes);
  }
  give_back(read);
  --r.under_way_;
  pump(r);
  finish_if_idle(r);
}

void staged_reads::finish_if_idle(right_reader& r) noexcept {
  if (r.under_way_ != 0 || (!r.failure_ && !r.abandoned_ && r.posted_ < r.into_.size)) return;
  r.unlink();
  r.by_ = nullptr;
  const error failure = r.failure_;
  r.finished_(r, failure ? status(failure) : status());
}

bool staged_reads::abandon(right_reader& r) noexcept {
  r.abandoned_ = true;
  r.unlink();
  for (slab_read* read = posted_.first(); read != nullptr;) {
    slab_read& each = *std::exchange(read, posted_.next(*read));
    if (each.reader != &r || !each.link->take_back(each)) continue;
    --r.under_way_;
    give_back(each);
  }
  if (r.under_way_ != 0) return false;
  r.by_ = nullptr;
  return true;
}

void staged_reads::refilled() noexcept {
  intrusive_list<right_reader, right_reader> now;
  now.splice(waiting_);
  while (!now.empty()) {
    right_reader& r = now.pop_front();
    pump(r);
    finish_if_idle(r);
  }
}

void staged_reads::close() noexcept {
  while (!posted_.empty()) posted_.front().link->cut_now();
}

namespace {

std::optional<memory_right> right_in(const reply_event& event) noexcept {
  if (!event.outcome || event.final || event.payload_bytes != 0) return {};
  const auto right = wire::decode_from<memory_right>(event.head);
  return right ? std::optional(*right) : std::nullopt;
}

}  // namespace

bool recalls(const reply_event& event) noexcept {
  const auto right = right_in(event);
  return right && (right->flags & memory_right::recalled) != 0;
}

bool right_reads::begin(right_reader& r, session& from, const reply_event& event, const lent_range& into) {
  const auto right = right_in(event);
  if (!right || (right->flags & memory_right::recalled) != 0 || right->length() != into.size) return false;
  remote_access* const link = from.remote();
  if (link == nullptr) return false;
  auto& reads = by_registrar_[&link->registrar()];
  if (reads == nullptr) reads = std::make_unique<staged_reads>(endpoint_, link->registrar().incoming());
  reads->begin(r, from, *right, into);
  return true;
}

bool right_reads::abandon(right_reader& r) noexcept {
  return r.by_->abandon(r);
}

void right_reads::close() noexcept {
  for (auto& [registrar, reads] : by_registrar_) reads->close();
}

}  // namespace scoll::transport
