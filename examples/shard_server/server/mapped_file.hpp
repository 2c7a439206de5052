#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/file.hpp"

namespace shard {

/// A file's bytes as memory that the kernel reads from the disk, and takes back, as needed. The file may be
/// closed, but must not become shorter: access to what is gone ends the process. Move-only.
class mapped_file {
 public:
  /// Maps the first `bytes` bytes of a file that is open for reading. Errors: `io_error`.
  static scoll::result<mapped_file> map(const scoll::transport::file& f, std::uint64_t bytes) {
    if (bytes == 0) return mapped_file(nullptr, 0);  // the kernel refuses it
    void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, f.fd(), 0);
    if (at == MAP_FAILED) {
      return scoll::make_error(scoll::errc::io_error, "{} cannot be mapped into memory: {}", f.path(),
                               std::strerror(errno));
    }
    ::madvise(at, bytes, MADV_SEQUENTIAL);  // advice: without it, everything works as well
    return mapped_file(at, bytes);
  }

  mapped_file(mapped_file&& other) noexcept
      : at_(std::exchange(other.at_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  mapped_file& operator=(mapped_file&&) = delete;
  ~mapped_file() {
    if (at_ != nullptr) ::munmap(at_, size_);
  }

  std::span<const std::byte> bytes() const noexcept { return {static_cast<const std::byte*>(at_), size_}; }

 private:
  mapped_file(void* at, std::size_t size) noexcept : at_(at), size_(size) {}

  void* at_;
  std::size_t size_;
};

}  // namespace shard
