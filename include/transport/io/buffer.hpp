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
/// What is known of one buffer.
struct buffer {
  buffer_pool* pool;
  buffer* next;  // free list
  std::byte* data;
  std::uint32_t references;
  std::uint32_t index;  // position in its pool; the buffer id of a provided buffer
};
}  // namespace detail

/// A counted reference to one fixed-size buffer of a `buffer_pool`: how received bytes are lent out and how
/// one encoded payload is shared by all children of a broadcast. Single-threaded, like the pool. Empty when
/// default constructed.
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
  std::uint32_t index() const noexcept { return buffer_->index; }

 private:
  friend class buffer_pool;
  /// Adopts one reference that is counted already.
  constexpr explicit buffer_ref(detail::buffer* adopted) noexcept : buffer_(adopted) {}
  detail::buffer* buffer_ = nullptr;
};

/// At most `limit` buffers of `buffer_size` bytes, 64-byte aligned, created when first needed and kept until
/// the pool dies; so memory is bounded and a steady state allocates nothing. A pool that was never asked for
/// a buffer has no memory. The pool outlives its references.
class buffer_pool {
 public:
  buffer_pool(std::size_t buffer_size, std::size_t limit);
  ~buffer_pool();
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  /// An empty reference when all `limit` buffers are lent out.
  buffer_ref try_acquire() noexcept;

  std::size_t buffer_size() const noexcept { return buffer_size_; }
  std::size_t limit() const noexcept { return limit_; }
  std::size_t lent() const noexcept { return lent_; }

  /// Called once, at the first return of a buffer after `try_acquire` had found none: for a receiver that
  /// waits.
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

/// Bytes within a buffer, holding it: a received message on loan, or an encoded payload. Give it back soon:
/// while it is held the whole buffer is.
struct buffer_view {
  buffer_ref owner;
  std::span<const std::byte> bytes;
};

}  // namespace scoll::transport
