#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "scoll/coro/assert.hpp"

namespace scoll::transport {

class buffer_pool;

namespace detail {
/// The bookkeeping of one buffer.
struct buffer {
  buffer_pool* pool;
  buffer* next;  // free list
  std::byte* data;
  std::uint32_t references;
  std::uint32_t index;  // position in its pool; the buffer id of a provided buffer
};
}  // namespace detail

/// A counted reference to one fixed-size buffer of a `buffer_pool`. Received bytes are lent out by such
/// references, and all children of a broadcast share one encoded payload by them. Single-threaded, like the
/// pool. A default-constructed reference is empty.
class buffer_ref {
 public:
  constexpr buffer_ref() noexcept = default;
  buffer_ref(const buffer_ref& other) noexcept : buffer_(other.buffer_) {
    if (buffer_) ++buffer_->references;
  }
  buffer_ref(buffer_ref&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}
  buffer_ref& operator=(buffer_ref other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~buffer_ref() { reset(); }

  inline void reset() noexcept;
  explicit operator bool() const noexcept { return buffer_ != nullptr; }
  std::byte* data() const noexcept { return buffer_->data; }
  inline std::size_t capacity() const noexcept;
  /// True if the buffer may be held for long: its pool has many left (`buffer_pool::let_keep`).
  inline bool may_be_kept() const noexcept;
  std::uint32_t index() const noexcept { return buffer_->index; }

 private:
  friend class buffer_pool;
  /// Adopts a reference that has already been counted.
  constexpr explicit buffer_ref(detail::buffer* adopted) noexcept : buffer_(adopted) {}
  detail::buffer* buffer_ = nullptr;
};

/// A pool of at most `limit` buffers of `buffer_size` bytes, 64-byte aligned. Buffers are created when first
/// needed and kept until the pool is destroyed, so memory is bounded and a steady state allocates nothing. A
/// pool that has never lent a buffer has no memory. The pool must outlive all references to its buffers.
class buffer_pool {
 public:
  buffer_pool(std::size_t buffer_size, std::size_t limit);
  /// Makes a pool of buffers that lie in `memory`, one after the other. It must be 64-byte aligned, as
  /// `buffer_size` is, and must outlive all references.
  buffer_pool(std::span<std::byte> memory, std::size_t buffer_size);
  ~buffer_pool();
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  /// Lends out a buffer. The reference is empty if all `limit` buffers are lent out.
  buffer_ref try_acquire() noexcept;

  std::size_t buffer_size() const noexcept { return buffer_size_; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t lent() const noexcept { return lent_; }

  /// Lets buffers be held for long as long as no more than `most` are lent out. Without this, none may be.
  void let_keep(std::size_t most) noexcept { kept_limit_ = most; }

  /// Sets a function for a receiver that waits for buffers: it is called once, at the first return of a
  /// buffer after `try_acquire` has found none.
  using refill_function = void (*)(void* object) noexcept;
  void on_refill(refill_function function, void* object) noexcept {
    refill_ = function;
    refill_object_ = object;
  }

 private:
  friend class buffer_ref;
  struct block;
  void release(detail::buffer& buffer) noexcept;
  detail::buffer* create() noexcept;

  std::size_t buffer_size_;
  std::size_t limit_;
  std::size_t kept_limit_ = 0;
  std::byte* memory_ = nullptr;  // given; null: each buffer has its own
  std::size_t lent_ = 0;
  std::size_t created_ = 0;
  bool starved_ = false;
  detail::buffer* free_ = nullptr;
  std::unique_ptr<block> blocks_;
  std::size_t blocks_count_ = 0;
  refill_function refill_ = nullptr;
  void* refill_object_ = nullptr;
};

inline void buffer_ref::reset() noexcept {
  detail::buffer* buffer = std::exchange(buffer_, nullptr);
  if (buffer != nullptr && --buffer->references == 0 && buffer->pool != nullptr)
    buffer->pool->release(*buffer);
}
inline std::size_t buffer_ref::capacity() const noexcept {
  return buffer_->pool->buffer_size();
}
inline bool buffer_ref::may_be_kept() const noexcept {
  return buffer_->pool->lent_ <= buffer_->pool->kept_limit_;
}

/// Bytes within a buffer, and a reference that keeps it: a received message, or an encoded payload. Release
/// it soon, because it keeps the whole buffer.
struct buffer_view {
  buffer_ref owner;
  std::span<const std::byte> bytes;
};

}  // namespace scoll::transport
