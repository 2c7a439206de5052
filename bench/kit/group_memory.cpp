#include "group_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sockets.hpp"

namespace bench {

// The report comes first, then the pages. All bytes are zero at first.
constexpr std::size_t pages_at =
    (sizeof(report_page) + alignof(member_page) - 1) / alignof(member_page) * alignof(member_page);

group_memory::group_memory(std::uint32_t count) : file_(memfd_create("scoll-bench", MFD_CLOEXEC)) {
  const std::size_t bytes = pages_at + count * sizeof(member_page);
  if (!file_ || ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) fail("shared memory");
  map(bytes);
}

group_memory::group_memory(const std::string& path) : file_(open(path.c_str(), O_RDWR | O_CLOEXEC)) {
  struct stat known{};
  if (!file_ || fstat(file_.get(), &known) != 0) fail("opening the memory of the group");
  map(static_cast<std::size_t>(known.st_size));
}

group_memory::~group_memory() {
  munmap(report_, bytes_);
}

void group_memory::map(std::size_t bytes) {
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED) fail("mapping shared memory");
  bytes_ = bytes;
  report_ = static_cast<report_page*>(at);
}

std::span<member_page> group_memory::pages() const noexcept {
  auto* const first = reinterpret_cast<member_page*>(reinterpret_cast<std::byte*>(report_) + pages_at);
  return {first, (bytes_ - pages_at) / sizeof(member_page)};
}

std::string group_memory::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get());
}

}  // namespace bench
