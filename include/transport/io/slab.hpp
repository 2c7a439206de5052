#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "scoll/coro/assert.hpp"

namespace scoll::transport {

class slab_pool;

namespace detail {
/// What is known of one buffer.
struct slab {
  slab_pool* pool;
  slab* next;  // free list
  std::byte* data;
  std::uint32_t references;
  std::uint32_t index;  // position in its pool; the buffer id of a provided buffer
};
}  // namespace detail

/// A counted reference to one fixed-size buffer of a `slab_pool`: how received bytes are lent out and how one
/// encoded payload is shared by all children of a broadcast. Single-threaded, like the pool. Empty when
/// default constructed.
class slab_ref {
 public:
  constexpr slab_ref() noexcept = default;
  slab_ref(const slab_ref& other) noexcept : slab_(other.slab_) {
    if (slab_) ++slab_->references;
  }
  slab_ref(slab_ref&& other) noexcept : slab_(std::exchange(other.slab_, nullptr)) {}
  slab_ref& operator=(slab_ref other) noexcept {
    std::swap(slab_, other.slab_);
    return *this;
  }
  ~slab_ref() { reset(); }

  inline void reset() noexcept;
  explicit operator bool() const noexcept { return slab_ != nullptr; }
  std::byte* data() const noexcept { return slab_->data; }
  inline std::size_t capacity() const noexcept;
  std::uint32_t index() const noexcept { return slab_->index; }

 private:
  friend class slab_pool;
  /// Adopts one reference that is counted already.
  constexpr explicit slab_ref(detail::slab* adopted) noexcept : slab_(adopted) {}
  detail::slab* slab_ = nullptr;
};

/// At most `limit` buffers of `slab_size` bytes, 64-byte aligned, created when first needed and kept until
/// the pool dies; so memory is bounded and a steady state allocates nothing. A pool that was never asked for
/// a buffer has no memory. The pool outlives its references.
class slab_pool {
 public:
  slab_pool(std::size_t slab_size, std::size_t limit);
  ~slab_pool();
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;

  /// An empty reference when all `limit` buffers are lent out.
  slab_ref try_acquire() noexcept;

  std::size_t slab_size() const noexcept { return slab_size_; }
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
  friend class slab_ref;
  struct block;
  void release(detail::slab& slab) noexcept;
  detail::slab* create() noexcept;

  std::size_t slab_size_;
  std::size_t limit_;
  std::size_t lent_ = 0;
  std::size_t created_ = 0;
  bool starved_ = false;
  detail::slab* free_ = nullptr;
  std::unique_ptr<block> blocks_;
  std::size_t blocks_count_ = 0;
  refill_function refill_ = nullptr;
  void* refill_object_ = nullptr;
};

inline void slab_ref::reset() noexcept {
  detail::slab* slab = std::exchange(slab_, nullptr);
  if (slab != nullptr && --slab->references == 0 && slab->pool != nullptr) slab->pool->release(*slab);
}
inline std::size_t slab_ref::capacity() const noexcept {
  return slab_->pool->slab_size();
}

/// Bytes within a slab, holding it: a received message on loan, or an encoded payload. Give it back soon:
/// while it is held the whole slab is.
struct loan {
  slab_ref owner;
  std::span<const std::byte> bytes;
};

}  // namespace scoll::transport
