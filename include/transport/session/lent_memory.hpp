#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/intrusive_list.hpp"

namespace scoll::transport {

class lent_memory;

/// A user of lent memory that outlives the step in which it was lent: a message that will be sent from it, a
/// link that has sent part of it, a frame that arrives into it. Its destructor takes it out of the list.
class borrower : public list_hook<borrower> {
 public:
  using function = void (*)(borrower&) noexcept;

  /// `recalled` is called when the memory is about to go; the borrower must not use the memory afterwards. If
  /// it is null, the borrower must check `memory()` before each use instead.
  explicit borrower(function recalled = nullptr) noexcept : recalled_(recalled) {}

  inline void borrow(lent_memory& from) noexcept;
  /// Likewise, for hardware: it may use the memory at any time, until this borrower has given it back.
  /// `recalled` has to end that before it returns, which is expensive, so owners avoid it.
  inline void pin(lent_memory& from) noexcept;
  inline void give_back() noexcept;
  /// The borrowed memory; null if nothing is borrowed, or no longer.
  lent_memory* memory() const noexcept { return memory_; }

 protected:
  ~borrower() = default;

 private:
  friend class lent_memory;
  function recalled_;
  lent_memory* memory_ = nullptr;
};

/// Memory of a user from which messages are sent, and into which they arrive, without a copy. It is one
/// piece, or several that count as one linear range. Borrowers read and write it only within steps of its
/// executor, so `recall` ends all use of it at once, without a wait (docs/decisions/0009). Hardware that
/// reads by a right pins it, and is waited for first, if that can be done (docs/decisions/0024).
class lent_memory {
 public:
  lent_memory() noexcept = default;
  ~lent_memory() { recall(); }
  lent_memory(const lent_memory&) = delete;
  lent_memory& operator=(const lent_memory&) = delete;

  /// Appends a piece. From the second piece on this allocates.
  void add(std::span<std::byte> piece);
  /// Recalls everything and forgets the pieces.
  void clear() noexcept;
  std::uint64_t size() const noexcept { return size_; }

  /// The contiguous bytes from `offset` on, to the end of their piece; empty at the end.
  std::span<std::byte> piece(std::uint64_t offset) const noexcept;
  /// Copy a range that lies within the memory.
  void copy_out(std::uint64_t offset, std::span<std::byte> into) const noexcept;
  void copy_in(std::uint64_t offset, std::span<const std::byte> from) noexcept;
  /// The XXH3 of a range that lies within the memory.
  std::uint64_t checksum(std::uint64_t offset, std::uint64_t length) const noexcept;

  /// Makes all borrowers let go of the memory at once, hardware too.
  void recall() noexcept;
  /// Likewise, except hardware.
  void let_go() noexcept;
  /// True if hardware may use the memory.
  bool pinned() noexcept { return !pins_.empty(); }

  bool borrowed() noexcept { return !borrowers_.empty() || pinned(); }
  /// Sets a function that is called whenever the last borrower has given the memory back; null: none. It is
  /// called from inside whatever the borrower does, so it should do no more than schedule work.
  using returned_function = void (*)(void* object) noexcept;
  void on_returned(returned_function function, void* object) noexcept {
    returned_ = function;
    returned_object_ = object;
  }

 private:
  friend class borrower;
  struct extent {
    std::uint64_t begin;
    std::span<std::byte> bytes;
  };

  std::span<std::byte> first_;
  std::uint64_t size_ = 0;
  std::vector<extent> more_;
  intrusive_list<borrower, borrower> borrowers_;
  intrusive_list<borrower, borrower> pins_;
  returned_function returned_ = nullptr;
  void* returned_object_ = nullptr;
};

inline void borrower::give_back() noexcept {
  unlink();
  lent_memory* const from = std::exchange(memory_, nullptr);
  if (from != nullptr && from->returned_ != nullptr && !from->borrowed())
    from->returned_(from->returned_object_);
}
inline void borrower::borrow(lent_memory& from) noexcept {
  give_back();
  memory_ = &from;
  from.borrowers_.push_back(*this);
}

inline void borrower::pin(lent_memory& from) noexcept {
  give_back();
  memory_ = &from;
  from.pins_.push_back(*this);
}

/// A range of lent memory.
struct lent_range {
  lent_memory* memory = nullptr;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;

  explicit operator bool() const noexcept { return memory != nullptr; }
  /// Calls `use(piece)` for every contiguous piece, in order.
  template <class Use>
  void each_piece(Use&& use) const {
    std::uint64_t at = offset;
    for (std::size_t left = memory == nullptr ? 0 : size; left != 0;) {
      std::span<std::byte> next = memory->piece(at);
      SCOLL_ASSERT(!next.empty(), "lent memory is used beyond its end");
      next = next.first(next.size() < left ? next.size() : left);
      use(next);
      at += next.size();
      left -= next.size();
    }
  }
};

}  // namespace scoll::transport
