#include "transport/slab.hpp"

#include <cstdlib>

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

slab_pool::slab_pool(std::size_t slab_size, std::size_t limit)
    : slab_size_(slab_size), limit_(limit), slabs_(new detail::slab[limit]{}) {}

slab_pool::~slab_pool() {
  const bool all_back = lent_ == 0;
  for (detail::slab* slab = free_; slab != nullptr; slab = slab->next) {
    permit_access(slab->data, slab_size_);
    std::free(std::exchange(slab->data, nullptr));
  }
  if (all_back) {
    delete[] slabs_;
    return;
  }
  // A hook that does not return still reads its request, and nobody can take it away: what it holds stays
  // valid and is never reused.
  for (std::size_t i = 0; i < created_; ++i) slabs_[i].pool = nullptr;
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
  const std::size_t allocated = (slab_size_ + slab_alignment - 1) / slab_alignment * slab_alignment;
  void* const data = std::aligned_alloc(slab_alignment, allocated);
  if (data == nullptr) return nullptr;
  detail::slab& slab = slabs_[created_];
  slab.pool = this;
  slab.data = static_cast<std::byte*>(data);
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
