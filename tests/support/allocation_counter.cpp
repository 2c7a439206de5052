#include "allocation_counter.hpp"

#include <malloc.h>

#include <cstdlib>
#include <new>

namespace {

constinit thread_local std::size_t allocations = 0;
constinit thread_local std::ptrdiff_t bytes = 0;

}  // namespace

std::size_t allocation_counter::on_this_thread() noexcept {
  return allocations;
}

std::ptrdiff_t allocation_counter::bytes_on_this_thread() noexcept {
  return bytes;
}

#ifndef SCOLL_SANITIZED

namespace {

void* counted(void* block) {
  if (block == nullptr) throw std::bad_alloc();
  ++allocations;
  bytes += static_cast<std::ptrdiff_t>(malloc_usable_size(block));
  return block;
}

void* counted(std::size_t size) {
  return counted(std::malloc(size == 0 ? 1 : size));
}

void* counted(std::size_t size, std::align_val_t alignment) {
  const auto boundary = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(boundary, (size + boundary - 1) / boundary * boundary));
}

void release(void* block) noexcept {
  bytes -= static_cast<std::ptrdiff_t>(malloc_usable_size(block));
  std::free(block);
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
  release(block);
}
void operator delete(void* block, std::size_t) noexcept {
  release(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  release(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  release(block);
}

#endif
