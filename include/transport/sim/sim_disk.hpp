#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/random.hpp"
#include "transport/io/reactor.hpp"

namespace scoll::testing {

/// A file or directory of a `sim_disk`: the state that every process sees, and the state that would survive a
/// loss of power.
class sim_inode {
 public:
  using pointer = std::shared_ptr<sim_inode>;
  using names = std::map<std::string, pointer, std::less<>>;

  sim_inode(bool is_directory, mode_t permissions) noexcept : directory(is_directory), mode(permissions) {}

  std::size_t size() const noexcept { return seen_.size(); }
  std::span<const std::byte> bytes() const noexcept { return seen_; }
  void write(std::span<const std::byte> from, std::size_t offset, random_generator& random);
  void truncate();
  void sync();
  /// Any subset of the sectors written since the last `sync` stays, each in any of the versions it had. The
  /// size becomes any size between the old and the new one.
  void lose_power(random_generator& random);
  void damage(std::size_t offset) noexcept;

  const bool directory;
  const mode_t mode;
  names entries;          ///< in a directory, as every process sees them
  names durable_entries;  ///< in a directory, as they are on the disk

 private:
  void write_back(std::size_t sector);

  std::vector<std::byte> seen_;
  std::vector<std::byte> kept_;  // may be longer than `kept_size_`: sectors can arrive before the size does
  std::size_t kept_size_ = 0;
  std::vector<bool> dirty_;  // by sector
};

/// The content of one simulated host's disk and of its page cache, which its processes see. It outlives the
/// lives of the host. `lose_power` makes both equal, by choices of the disk's own generator:
///
/// - any subset of the unsynchronised sectors of 512 bytes has been written, each of them whole;
/// - any subset of the creations, renames and removals that no sync of their directory followed has happened,
///   each of them whole and those of one name in order. A sync of a file does not make its name durable.
///
/// Paths start at one root, with or without a slash; there are no links and no "..". Results are a negative
/// errno for a failure. Everything is deterministic.
class sim_disk {
 public:
  static constexpr std::size_t sector_bytes = 512;
  static constexpr std::uint64_t no_limit = UINT64_MAX;
  using node = sim_inode::pointer;

  /// Makes a disk of `capacity` bytes. Files take whole sectors; names take no space.
  explicit sim_disk(std::uint64_t seed, std::uint64_t capacity = no_limit)
      : random_(seed), capacity_(capacity) {}
  sim_disk(const sim_disk&) = delete;
  sim_disk& operator=(const sim_disk&) = delete;

  void lose_power();
  /// Flips a bit of a stored byte. False if there is no such byte.
  bool damage(std::string_view path, std::size_t offset);
  std::uint64_t bytes_used() const { return used_below(*root_); }
  random_generator& random() noexcept { return random_; }

  // The operations of a file system. `out` is set on success.
  int open(std::string_view path, int flags, mode_t mode, node& out);
  int write(sim_inode& file, std::span<const std::byte> from, std::uint64_t offset);
  void sync(const node& n);
  int find(std::string_view path, node& out) const;
  int rename(std::string_view from, std::string_view to);
  int unlink(std::string_view path, bool directory);
  int make_directory(std::string_view path, mode_t mode);
  int list(std::string_view path, transport::directory_listing& out) const;

 private:
  struct place {  // a name in a directory, whether or not it exists
    node directory;
    std::string name;
    node target;
  };
  struct name_change {
    node directory;
    std::string name;
    node target;  // null: the name is gone
  };
  using change = std::vector<name_change>;  // the changes of one operation, which happen all or not at all
  using name_key = std::pair<const sim_inode*, std::string>;

  int locate(std::string_view path, place& out) const;
  void carry_out(change c);
  static void make_durable(const change& c);
  void sync_names(const node& directory);
  static std::uint64_t used_below(const sim_inode& directory);
  void settle(sim_inode& n);

  random_generator random_;
  std::uint64_t capacity_;
  node root_ = std::make_shared<sim_inode>(true, 0755);
  std::vector<change> journal_;  // changes of names that are not yet durable, oldest first
};

}  // namespace scoll::testing
