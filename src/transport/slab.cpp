#include "transport/slab.hpp"

#include <cstdlib>
#include <new>

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
static_assert(sizeof(detail::slab) <= slab_alignment);

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

slab_pool::slab_pool(std::size_t slab_size, std::size_t limit) : slab_size_(slab_size), limit_(limit) {}

slab_pool::~slab_pool() {
  while (last_created_ != nullptr) {
    detail::slab& slab = *std::exchange(last_created_, last_created_->before);
    if (slab.references == 0) {
      permit_access(slab.data, slab_size_);
      std::free(slab.data);
    } else {
      // A hook that does not return still reads its request, and nobody can take it away: what it holds stays
      // valid and is never reused.
      slab.pool = nullptr;
    }
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
  const std::size_t buffer = (slab_size_ + slab_alignment - 1) / slab_alignment * slab_alignment;
  auto* const data = static_cast<std::byte*>(std::aligned_alloc(slab_alignment, buffer + slab_alignment));
  if (data == nullptr) return nullptr;
  auto& slab = *new (data + buffer) detail::slab{};
  slab.pool = this;
  slab.data = data;
  slab.index = static_cast<std::uint32_t>(created_++);
  slab.before = std::exchange(last_created_, &slab);
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
