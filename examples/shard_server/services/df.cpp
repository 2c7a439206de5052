#include "df.hpp"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <span>
#include <string>

#include "transport/wire/checksum.hpp"

namespace shard {
namespace {

/// Blocks its thread: a network file system may take its time.
scoll::result<filesystem> filesystem_of(const std::string& folder) {
  struct statvfs space{};
  struct stat status{};
  if (::statvfs(folder.c_str(), &space) != 0 || ::stat(folder.c_str(), &status) != 0)
    return scoll::error::system(errno, "statvfs " + folder);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  filesystem found;
  found.machine = scoll::wire::checksum(std::as_bytes(std::span(boot)));
  found.device = status.st_dev;
  found.capacity_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
  found.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  return found;
}

bool before(const filesystem& a, const filesystem& b) noexcept {
  return a.machine != b.machine ? a.machine < b.machine : a.device < b.device;
}

}  // namespace

void filesystems::merge(const filesystems& from) noexcept {
  for (const filesystem& other : from.each) {
    const auto at = std::lower_bound(each.begin(), each.end(), other, before);
    if (at == each.end() || before(other, *at)) {
      each.insert(at, other);
    } else {
      at->capacity_bytes = std::max(at->capacity_bytes, other.capacity_bytes);
      at->free_bytes = std::min(at->free_bytes, other.free_bytes);
    }
  }
}

scoll::task<scoll::result<df::reply>> df::execute(const request&, scoll::bcast_context& call) {
  reply mine;
  mine.objects.value = store->objects();
  mine.bytes.value = store->bytes();
  const auto ask = [folder = store->folder()] { return filesystem_of(folder); };
  const auto disk = co_await call.pool().run("statvfs", ask, call.stop());
  if (!disk) co_return disk.error();
  mine.disks.each.push_back(*disk);
  co_return mine;
}

}  // namespace shard
