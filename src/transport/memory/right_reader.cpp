#include "transport/memory/right_reader.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

right_reader::right_reader(right_readers& owner) noexcept : owner_(owner) {
  for (remote_read& read : reads_) read.on_complete(&completed, this);
}

/// The local memory is taken away. Only hardware that writes to it itself must be stopped.
void right_reader::place::taken(borrower& self) noexcept {
  right_reader& reader = static_cast<place&>(self).owner;
  if (!reader.direct() || !reader.posted()) return;
  ++reader.owner_.count_.forced_fences;
  reader.at_->cut_now();
}

/// Posts the reads of the next round. False if there is no slab at present.
bool right_reader::try_post() noexcept {
  at_ = peer_->remote();
  if (!right_readers::is_current(*peer_, right_)) {
    finish(error(errc::connection_lost, "the connection of a right to read has ended"));
    return true;
  }
  if (place_.memory() == nullptr) {
    finish(error(errc::stale_descriptor, "the memory was recalled before it was written"));
    return true;
  }
  const std::uint32_t rest = size_ - done_;
  registered_range found;
  if (!through_slab_)
    found = owner_.registered_.find(at_->registrar(), {place_.memory(), offset_ + done_, rest});
  if (slab_ == nullptr && found.size == rest) {
    SCOLL_ASSERT(found.span != nullptr, "registered memory has a span");
    round_ = rest;
    span_ = found.span;
    span_->begin_use();
    place_.pin(*place_.memory());
    post(found.view());
    return true;
  }
  pool_ = &at_->registrar().incoming();
  if (slab_ == nullptr) slab_ = pool_->try_acquire();
  if (slab_ == nullptr) return false;
  registered_piece into = slab_->memory;
  round_ = static_cast<std::uint32_t>(std::min<std::size_t>(rest, into.bytes.size()));
  into.bytes = into.bytes.first(round_);
  owner_.count_.staged_bytes += round_;
  post({&into, 1});
  return true;
}

/// Posts one read for each range that is contiguous on both sides.
void right_reader::post(std::span<const registered_piece> into) noexcept {
  const auto extents = right_.extents();
  std::size_t from = 0;
  std::uint32_t skipped = done_;
  while (skipped >= extents[from].length) skipped -= extents[from++].length;
  std::size_t count = 0;
  std::size_t to = 0;
  std::size_t filled = 0;
  for (std::uint32_t posted = 0; posted < round_;) {
    remote_read& read = reads_[count++];
    const std::size_t size =
        std::min<std::size_t>(extents[from].length - skipped, into[to].bytes.size() - filled);
    read.from = {extents[from].address + skipped, extents[from].key, static_cast<std::uint32_t>(size)};
    read.into = into[to];
    read.into.bytes = into[to].bytes.subspan(filled, size);
    posted += static_cast<std::uint32_t>(size);
    skipped += static_cast<std::uint32_t>(size);
    filled += size;
    if (skipped == extents[from].length) {
      ++from;
      skipped = 0;
    }
    if (filled == into[to].bytes.size()) {
      ++to;
      filled = 0;
    }
  }
  left_ = count;
  list_hook<>::unlink();
  owner_.posted_.push_back(*this);
  owner_.count_.reads += count;
  owner_.count_.read_bytes += round_;
  for (std::size_t i = 0; i < count; ++i) at_->read(reads_[i]);
}

void right_reader::completed(remote_read&, void* self, const status& outcome) noexcept {
  auto& reader = *static_cast<right_reader*>(self);
  if (!outcome && reader.failure_) reader.failure_ = outcome;
  if (--reader.left_ == 0) reader.round_over();
}

void right_reader::round_over() noexcept {
  if (!failure_) return finish(failure_);
  if (place_.memory() == nullptr)
    return finish(error(errc::stale_descriptor, "the memory was recalled while it was written"));
  if (slab_ != nullptr) place_.memory()->copy_in(offset_ + done_, slab_->memory.bytes.first(round_));
  done_ += round_;
  if (done_ < size_) {
    static_cast<void>(try_post());  // it has its slab
    return;
  }
  const bool checked = (right_.flags & memory_right::checked) != 0;
  if (checked && place_.memory()->checksum(offset_, size_) != right_.checksum &&
      !SCOLL_MUTANT(bulk_damage_ignored))
    return finish(error(errc::checksum_mismatch, "memory was altered while it was read"));
  finish({});
}

void right_reader::finish(const status& outcome) noexcept {
  const status ended = outcome;
  read_waiter& waiter = *waiter_;
  right_readers& owner = owner_;
  owner.release(*this);
  waiter.on_read(ended);
  owner.freed_(owner.object_);
}

bool right_readers::is_current(const session& peer, const memory_right& right) noexcept {
  remote_access* const at = peer.remote();
  return at != nullptr && (at->id() == right.link ||
                           SCOLL_MUTANT(right_of_any_link, "a right of an earlier connection is used"));
}

right_reader& right_readers::acquire() {
  if (free_.empty()) {
    for (std::size_t i = 0; i < step; ++i) {
      all_.push_back(std::make_unique<right_reader>(*this));
      free_.push_back(*all_.back());
    }
  }
  return free_.pop_front();
}

void right_readers::release(right_reader& reader) noexcept {
  reader.place_.give_back();
  if (reader.slab_ != nullptr) reader.pool_->release(*std::exchange(reader.slab_, nullptr));
  if (reader.span_ != nullptr) std::exchange(reader.span_, nullptr)->end_use();
  reader.list_hook<>::unlink();
  free_.push_front(reader);
  --running_;
}

right_reader& right_readers::begin(read_waiter& waiter, const session& peer, const memory_right& right,
                                   const lent_range& into, bool through_slab) noexcept {
  SCOLL_ASSERT(is_current(peer, right) && into.size == right.length(), "a right fits its link and its place");
  right_reader& reader = acquire();
  ++running_;
  reader.waiter_ = &waiter;
  reader.peer_ = &peer;
  reader.right_ = right;
  reader.through_slab_ = through_slab;
  reader.place_.borrow(*into.memory);
  reader.offset_ = into.offset;
  reader.size_ = into.size;
  reader.done_ = 0;
  reader.failure_ = {};
  if (!reader.try_post()) waiting_.push_back(reader);
  return reader;
}

void right_readers::take_back(right_reader& reader) noexcept {
  SCOLL_ASSERT(!reader.posted(), "reads that are posted are waited for");
  release(reader);
}

void right_readers::resume() noexcept {
  intrusive_list<right_reader> now;
  now.splice(waiting_);
  while (!now.empty()) {
    right_reader& each = now.pop_front();
    if (!each.try_post()) waiting_.push_back(each);
  }
}

void right_readers::cut(const lent_memory& memory) noexcept {
  for (right_reader* r = posted_.first(); r != nullptr; r = posted_.next(*r)) {
    if (r->direct() && r->place_.memory() == &memory) r->at_->cut();
  }
}

void right_readers::end_all() noexcept {
  const error gone(errc::closed, "this node is shutting down");
  while (!posted_.empty()) {
    right_reader& reader = posted_.front();
    reader.at_->cut_now();
    for (remote_read& read : reader.reads_) read.unlink();
    reader.left_ = 0;
    reader.finish(gone);
  }
  while (!waiting_.empty()) waiting_.front().finish(gone);
}

}  // namespace scoll::transport
