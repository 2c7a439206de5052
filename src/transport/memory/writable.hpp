#pragma once

#include <cstddef>
#include <span>

namespace scoll::transport {

/// The same memory for the tables and transfers, which have one type for memory of either direction. The bytes
/// are never written: a region of constant memory grants read access alone, and a push only reads its source.
inline std::span<std::byte> as_writable(std::span<const std::byte> memory) noexcept {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}

}  // namespace scoll::transport
