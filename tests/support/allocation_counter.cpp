#include "allocation_counter.hpp"

#include <cstdlib>
#include <new>

namespace {

constinit thread_local std::size_t allocations = 0;

}  // namespace

std::size_t allocation_counter::on_this_thread() noexcept {
  return allocations;
}

#ifndef SCOLL_SANITIZED

namespace {

void* counted(std::size_t size) {
  ++allocations;
  if (void* const block = std::malloc(size == 0 ? 1 : size)) return block;
  throw std::bad_alloc();
}

void* counted(std::size_t size, std::align_val_t alignment) {
  ++allocations;
  const auto boundary = static_cast<std::size_t>(alignment);
  if (void* const block = std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary))
    return block;
  throw std::bad_alloc();
}

}  // namespace

// The array and nothrow forms of the standard library call these.
void* operator new(std::size_t size) {
  return counted(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, alignment);
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

#endif
