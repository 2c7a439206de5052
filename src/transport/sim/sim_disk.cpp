#include "transport/sim/sim_disk.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

namespace scoll::testing {
namespace {

constexpr std::size_t sector_bytes = sim_disk::sector_bytes;

constexpr std::size_t sectors(std::size_t bytes) noexcept {
  return (bytes + sector_bytes - 1) / sector_bytes;
}

/// How much of the unsynchronised work survives a loss of power: all, nothing, or each part by itself. The
/// extremes are the most common cases in practice, but would be rare if every part were drawn.
class survivors {
 public:
  explicit survivors(random_generator& random) : random_(random), mode_(random.below(4)) {}
  bool next() { return mode_ >= 2 ? random_.chance(1, 2) : mode_ == 1; }

 private:
  random_generator& random_;
  std::uint64_t mode_;
};

/// Cuts the first name off a path; empty at its end.
std::string_view next_name(std::string_view& path) noexcept {
  while (true) {
    path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(name.size());
    if (name != ".") return name;
  }
}

}  // namespace

// ---- one file

void sim_inode::write_back(std::size_t sector) {
  const std::size_t from = sector * sector_bytes;
  const std::size_t until = std::min(from + sector_bytes, seen_.size());
  if (from >= until) return;
  if (kept_.size() < until) kept_.resize(until);
  std::memcpy(kept_.data() + from, seen_.data() + from, until - from);
}

void sim_inode::write(std::span<const std::byte> from, std::size_t offset, random_generator& random) {
  if (from.empty()) return;
  const std::size_t first = offset / sector_bytes;
  const std::size_t end = sectors(offset + from.size());
  if (dirty_.size() < end) dirty_.resize(end);
  for (std::size_t s = first; s < end; ++s) {
    // An overwritten version may have reached the disk before.
    if (dirty_[s] && random.chance(1, 2)) write_back(s);
    dirty_[s] = true;
  }
  if (seen_.size() < offset + from.size()) seen_.resize(offset + from.size());
  std::memcpy(seen_.data() + offset, from.data(), from.size());
}

void sim_inode::truncate() {
  // The sectors that a sparse write fills later must reach the disk too.
  dirty_.assign(sectors(std::max(seen_.size(), kept_.size())), true);
  seen_.clear();
}

void sim_inode::sync() {
  for (std::size_t s = 0; s < dirty_.size(); ++s) {
    if (dirty_[s]) write_back(s);
  }
  kept_size_ = seen_.size();
  kept_.resize(kept_size_);
  dirty_.clear();
}

void sim_inode::lose_power(random_generator& random) {
  survivors sectors_written(random);
  for (std::size_t s = 0; s < dirty_.size(); ++s) {
    if (dirty_[s] && sectors_written.next()) write_back(s);
  }
  const std::size_t smaller = std::min(kept_size_, seen_.size());
  const std::size_t larger = std::max(kept_size_, seen_.size());
  if (smaller != larger) {
    const std::size_t between = random.below(sectors(larger) + 1) * sector_bytes;
    const bool at_an_end = random.chance(1, 2);
    const bool at_the_new = random.chance(1, 2);
    const std::size_t end = at_the_new ? seen_.size() : kept_size_;
    kept_size_ = at_an_end ? end : std::clamp(between, smaller, larger);
  }
  kept_.resize(kept_size_);
  seen_ = kept_;
  dirty_.clear();
}

void sim_inode::damage(std::size_t offset) noexcept {
  seen_[offset] ^= std::byte{0x10};
  if (offset < kept_.size()) kept_[offset] ^= std::byte{0x10};
}

// ---- names

int sim_disk::locate(std::string_view path, place& out) const {
  out = {nullptr, {}, root_};
  for (std::string_view name = next_name(path); !name.empty(); name = next_name(path)) {
    if (name == "..") return -EINVAL;
    if (out.target == nullptr) return -ENOENT;
    if (!out.target->directory) return -ENOTDIR;
    const node directory = std::move(out.target);
    const auto found = directory->entries.find(name);
    out = {directory, std::string(name), found == directory->entries.end() ? nullptr : found->second};
  }
  return 0;
}

int sim_disk::find(std::string_view path, node& out) const {
  place at;
  if (path.empty()) return -ENOENT;
  if (const int failed = locate(path, at); failed != 0) return failed;
  if (at.target == nullptr) return -ENOENT;
  out = std::move(at.target);
  return 0;
}

void sim_disk::carry_out(change c) {
  for (const name_change& each : c) {
    if (each.target == nullptr) {
      each.directory->entries.erase(each.name);
    } else {
      each.directory->entries[each.name] = each.target;
    }
  }
  journal_.push_back(std::move(c));
}

void sim_disk::make_durable(const change& c) {
  for (const name_change& each : c) {
    if (each.target == nullptr) {
      each.directory->durable_entries.erase(each.name);
    } else {
      each.directory->durable_entries[each.name] = each.target;
    }
  }
}

int sim_disk::open(std::string_view path, int flags, mode_t mode, node& out) {
  place at;
  if (path.empty()) return -ENOENT;
  if ((flags & (O_APPEND | (O_TMPFILE & ~O_DIRECTORY))) != 0) return -EINVAL;
  if (const int failed = locate(path, at); failed != 0) return failed;
  if (at.target == nullptr) {
    if ((flags & O_CREAT) == 0) return -ENOENT;
    out = std::make_shared<sim_inode>(false, mode);
    carry_out({{at.directory, at.name, out}});
    return 0;
  }
  if ((flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
  if (!at.target->directory && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
  if (at.target->directory && (flags & O_ACCMODE) != O_RDONLY) return -EISDIR;
  if ((flags & O_TRUNC) != 0) at.target->truncate();
  out = std::move(at.target);
  return 0;
}

int sim_disk::rename(std::string_view from, std::string_view to) {
  place source, goal;
  if (from.empty() || to.empty()) return -ENOENT;
  if (const int failed = locate(from, source); failed != 0) return failed;
  if (source.target == nullptr) return -ENOENT;
  if (const int failed = locate(to, goal); failed != 0) return failed;
  if (source.directory == nullptr || goal.directory == nullptr) return -EBUSY;  // the root
  if (goal.target == source.target) return 0;
  if (goal.target != nullptr) {
    if (goal.target->directory && !source.target->directory) return -EISDIR;
    if (!goal.target->directory && source.target->directory) return -ENOTDIR;
    if (!goal.target->entries.empty()) return -ENOTEMPTY;
  }
  // moving a directory to another one is not supported
  if (source.target->directory && goal.directory != source.directory) return -EXDEV;
  carry_out({{source.directory, source.name, nullptr}, {goal.directory, goal.name, source.target}});
  return 0;
}

int sim_disk::unlink(std::string_view path, bool directory) {
  place at;
  if (path.empty()) return -ENOENT;
  if (const int failed = locate(path, at); failed != 0) return failed;
  if (at.target == nullptr) return -ENOENT;
  if (at.directory == nullptr) return -EBUSY;
  if (directory != at.target->directory) return directory ? -ENOTDIR : -EISDIR;
  if (!at.target->entries.empty()) return -ENOTEMPTY;
  carry_out({{at.directory, at.name, nullptr}});
  return 0;
}

int sim_disk::make_directory(std::string_view path, mode_t mode) {
  place at;
  if (path.empty()) return -ENOENT;
  if (const int failed = locate(path, at); failed != 0) return failed;
  if (at.target != nullptr) return -EEXIST;
  carry_out({{at.directory, at.name, std::make_shared<sim_inode>(true, mode)}});
  return 0;
}

int sim_disk::list(std::string_view path, transport::directory_listing& out) const {
  node found;
  if (const int failed = find(path, found); failed != 0) return failed;
  if (!found->directory) return -ENOTDIR;
  out.clear();
  for (const auto& [name, target] : found->entries) out.push_back({name, target->directory});
  return 0;
}

// ---- content

std::uint64_t sim_disk::used_below(const sim_inode& directory) {
  std::uint64_t sum = sectors(directory.size()) * sector_bytes;
  for (const auto& [name, target] : directory.entries) sum += used_below(*target);
  return sum;
}

int sim_disk::write(sim_inode& file, std::span<const std::byte> from, std::uint64_t offset) {
  const std::size_t size = file.size();
  if (capacity_ != no_limit && offset + from.size() > sectors(size) * sector_bytes) {
    const std::uint64_t used = bytes_used();
    const std::uint64_t free = used < capacity_ ? (capacity_ - used) / sector_bytes * sector_bytes : 0;
    const std::uint64_t end = sectors(size) * sector_bytes + free;
    if (end <= offset) return -ENOSPC;
    from = from.first(std::min<std::uint64_t>(from.size(), end - offset));
  }
  file.write(from, offset, random_);
  return static_cast<int>(from.size());
}

void sim_disk::sync(const node& n) {
  if (n->directory) {
    sync_names(n);
  } else {
    n->sync();
  }
}

/// Makes the changes in this directory durable, and the earlier changes that they build on.
void sim_disk::sync_names(const node& directory) {
  std::set<name_key> needed;
  std::vector<bool> now(journal_.size());
  for (std::size_t i = journal_.size(); i-- != 0;) {
    const change& c = journal_[i];
    now[i] = std::any_of(c.begin(), c.end(), [&](const name_change& each) {
      return each.directory == directory || needed.contains({each.directory.get(), each.name});
    });
    if (!now[i]) continue;
    for (const name_change& each : c) needed.insert({each.directory.get(), each.name});
  }
  std::vector<change> rest;
  for (std::size_t i = 0; i < journal_.size(); ++i) {
    if (now[i]) {
      make_durable(journal_[i]);
    } else {
      rest.push_back(std::move(journal_[i]));
    }
  }
  journal_ = std::move(rest);
}

void sim_disk::lose_power() {
  std::set<name_key> stopped;  // names with a lost change, whose later changes are lost too
  survivors changes_made(random_);
  for (const change& c : journal_) {
    const bool lost = std::any_of(c.begin(), c.end(), [&](const name_change& each) {
      return stopped.contains({each.directory.get(), each.name});
    });
    if (!lost && changes_made.next()) {
      make_durable(c);
    } else {
      for (const name_change& each : c) stopped.insert({each.directory.get(), each.name});
    }
  }
  journal_.clear();
  settle(*root_);
}

void sim_disk::settle(sim_inode& n) {
  if (!n.directory) return n.lose_power(random_);
  n.entries = n.durable_entries;
  for (const auto& [name, target] : n.entries) settle(*target);
}

bool sim_disk::damage(std::string_view path, std::size_t offset) {
  node found;
  if (find(path, found) != 0 || found->directory || offset >= found->size()) return false;
  found->damage(offset);
  return true;
}

}  // namespace scoll::testing
