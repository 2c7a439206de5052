#include "transport/io/buffer.hpp"

#include <array>
#include <cstdlib>
#include <new>
#include <tuple>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SCOLL_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define SCOLL_ADDRESS_SANITIZER 1
#endif
#ifdef SCOLL_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace scoll::transport {
namespace {

constexpr std::size_t buffer_alignment = 64;

// A buffer without references may not be accessed, so a view that is used after it was released is found.
void forbid_access([[maybe_unused]] void* data, [[maybe_unused]] std::size_t size) noexcept {
#ifdef SCOLL_ADDRESS_SANITIZER
  __asan_poison_memory_region(data, size);
#endif
}

void permit_access([[maybe_unused]] void* data, [[maybe_unused]] std::size_t size) noexcept {
#ifdef SCOLL_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(data, size);
#endif
}

}  // namespace

/// The bookkeeping of buffers is contiguous and apart from their bytes. Taking the same few buffers again and
/// again then touches a cache line or two, not one at the end of each buffer.
struct buffer_pool::block {
  static constexpr std::size_t size = 32;
  std::unique_ptr<block> before;
  std::array<detail::buffer, size> buffers{};
};

buffer_pool::buffer_pool(std::size_t buffer_size, std::size_t limit)
    : buffer_size_(buffer_size), limit_(limit) {}

buffer_pool::buffer_pool(std::span<std::byte> memory, std::size_t buffer_size)
    : buffer_size_(buffer_size), limit_(memory.size() / buffer_size), memory_(memory.data()) {
  SCOLL_ASSERT(buffer_size % buffer_alignment == 0,
               "buffers in given memory have a size of whole cache lines");
}

buffer_pool::~buffer_pool() {
  while (blocks_ != nullptr) {
    std::unique_ptr<block> last = std::exchange(blocks_, std::move(blocks_->before));
    bool held = false;
    for (detail::buffer& buffer : last->buffers) {
      if (buffer.references == 0) {
        if (buffer.data != nullptr) permit_access(buffer.data, buffer_size_);
        if (memory_ == nullptr) std::free(buffer.data);
      } else {
        // A hook that does not return still reads its request, and nothing can take it away. So what it holds
        // stays valid and is never reused.
        buffer.pool = nullptr;
        held = true;
      }
    }
    if (held) std::ignore = last.release();
  }
}

buffer_ref buffer_pool::try_acquire() noexcept {
  detail::buffer* buffer = free_ != nullptr ? free_ : create();
  if (buffer == nullptr) {
    starved_ = true;
    return {};
  }
  if (buffer == free_) free_ = buffer->next;
  permit_access(buffer->data, buffer_size_);
  buffer->references = 1;
  ++lent_;
  return buffer_ref(buffer);
}

detail::buffer* buffer_pool::create() noexcept {
  if (created_ == limit_) return nullptr;
  if (created_ == blocks_count_ * block::size) {
    std::unique_ptr<block> next(new (std::nothrow) block);
    if (next == nullptr) return nullptr;
    next->before = std::move(blocks_);
    blocks_ = std::move(next);
    ++blocks_count_;
  }
  const std::size_t aligned_size =
      (buffer_size_ + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
  auto* const data = memory_ != nullptr
                         ? memory_ + created_ * buffer_size_
                         : static_cast<std::byte*>(std::aligned_alloc(buffer_alignment, aligned_size));
  if (data == nullptr) return nullptr;
  detail::buffer& buffer = blocks_->buffers[created_ % block::size];
  buffer.pool = this;
  buffer.data = data;
  buffer.index = static_cast<std::uint32_t>(created_++);
  return &buffer;
}

void buffer_pool::release(detail::buffer& buffer) noexcept {
  forbid_access(buffer.data, buffer_size_);
  buffer.next = free_;
  free_ = &buffer;
  --lent_;
  if (!starved_) return;
  starved_ = false;
  if (refill_ != nullptr) refill_(refill_object_);
}

}  // namespace scoll::transport
