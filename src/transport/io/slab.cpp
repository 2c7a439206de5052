#include "transport/io/slab.hpp"

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

constexpr std::size_t slab_alignment = 64;

// A slab that nobody holds is out of bounds: a loan used after it was given back is found.
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

/// What is known of slabs lies together and apart from their bytes: whoever takes the same few again and
/// again then touches a cache line or two, not one at the end of each.
struct slab_pool::block {
  static constexpr std::size_t size = 32;
  std::unique_ptr<block> before;
  std::array<detail::slab, size> slabs{};
};

slab_pool::slab_pool(std::size_t slab_size, std::size_t limit) : slab_size_(slab_size), limit_(limit) {}

slab_pool::~slab_pool() {
  while (blocks_ != nullptr) {
    std::unique_ptr<block> last = std::exchange(blocks_, std::move(blocks_->before));
    bool held = false;
    for (detail::slab& slab : last->slabs) {
      if (slab.references == 0) {
        if (slab.data != nullptr) permit_access(slab.data, slab_size_);
        std::free(slab.data);
      } else {
        // A hook that does not return still reads its request, and nobody can take it away: what it holds
        // stays valid and is never reused.
        slab.pool = nullptr;
        held = true;
      }
    }
    if (held) std::ignore = last.release();
  }
}

slab_ref slab_pool::try_acquire() noexcept {
  detail::slab* slab = free_ != nullptr ? free_ : create();
  if (slab == nullptr) {
    starved_ = true;
    return {};
  }
  if (slab == free_) free_ = slab->next;
  permit_access(slab->data, slab_size_);
  slab->references = 1;
  ++lent_;
  return slab_ref(slab);
}

detail::slab* slab_pool::create() noexcept {
  if (created_ == limit_) return nullptr;
  if (created_ == blocks_count_ * block::size) {
    std::unique_ptr<block> next(new (std::nothrow) block);
    if (next == nullptr) return nullptr;
    next->before = std::move(blocks_);
    blocks_ = std::move(next);
    ++blocks_count_;
  }
  const std::size_t buffer = (slab_size_ + slab_alignment - 1) / slab_alignment * slab_alignment;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(slab_alignment, buffer));
  if (data == nullptr) return nullptr;
  detail::slab& slab = blocks_->slabs[created_ % block::size];
  slab.pool = this;
  slab.data = data;
  slab.index = static_cast<std::uint32_t>(created_++);
  return &slab;
}

void slab_pool::release(detail::slab& slab) noexcept {
  forbid_access(slab.data, slab_size_);
  slab.next = free_;
  free_ = &slab;
  --lent_;
  if (!starved_) return;
  starved_ = false;
  if (refill_ != nullptr) refill_(refill_object_);
}

}  // namespace scoll::transport
