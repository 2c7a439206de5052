#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>

namespace scoll::detail {

/// Bytes on the heap that are not filled with zeros first.
class byte_buffer {
 public:
  /// Returns false if there is no memory.
  bool allocate(std::size_t size) noexcept {
    bytes_.reset(new (std::nothrow) std::byte[size]);
    size_ = bytes_ != nullptr ? size : 0;
    return bytes_ != nullptr;
  }
  void release() noexcept {
    bytes_.reset();
    size_ = 0;
  }
  std::span<std::byte> span() const noexcept { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
};

}  // namespace scoll::detail
