#pragma once

#include <cstdint>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/reactor.hpp"
#include "transport/sim/sim_disk.hpp"

namespace scoll::testing {

/// How long operations take, by the clock of the executor.
struct sim_file_options {
  /// The time of every operation.
  nanoseconds operation{std::chrono::microseconds(20)};
  /// Additional time of a sync.
  nanoseconds sync{std::chrono::microseconds(400)};
  /// Additional time of reads and writes, in picoseconds per byte.
  std::uint64_t ps_per_byte = 500;
  /// Reads and writes often do less than they were asked to.
  bool short_counts = false;
};

/// Kinds of operations, to select those that fail.
using file_operation = transport::detail::io_slot::opcode;

/// The files of one life of a simulated host, in virtual time: descriptors and pending operations, on a disk
/// that outlives them. An operation takes effect when its time is over. Destroying this object without a
/// crash is the end of a process: what it wrote is there for the next one. After a crash every operation
/// fails with EIO and has no effect.
class sim_file_system final : public transport::file_system {
 public:
  sim_file_system(executor& home, sim_disk& disk, sim_file_options options = {});
  ~sim_file_system();
  sim_file_system(const sim_file_system&) = delete;
  sim_file_system& operator=(const sim_file_system&) = delete;

  /// The power fails now. Each pending operation has taken effect or has not.
  void crash();
  /// The power fails during the `nth` operation from now (1 is the next), which has taken effect or has not.
  /// Closing a file counts as an operation.
  void crash_at(std::uint64_t nth) noexcept { crash_at_ = operations_ + nth; }
  bool crashed() const noexcept { return crashed_; }
  /// The number of completed operations.
  std::uint64_t operations() const noexcept { return operations_; }
  /// Makes the `nth` operation of a kind from now on (1 is the next) fail with an errno and do nothing.
  void fail(file_operation kind, std::uint32_t nth, int errno_value) {
    faults_.push_back({kind, nth, errno_value});
  }
  /// Cancels the failures that have not happened yet.
  void heal() noexcept { faults_.clear(); }
  std::size_t open_files() const noexcept;

  void open(int directory_fd, const char* path, int flags, mode_t mode,
            transport::io_completion& done) noexcept override;
  void read(int fd, std::span<std::byte> into, std::uint64_t offset,
            transport::io_completion& done) noexcept override;
  void write(int fd, std::span<const std::byte> from, std::uint64_t offset,
             transport::io_completion& done) noexcept override;
  void sync(int fd, transport::io_completion& done) noexcept override;
  void stat(int directory_fd, const char* path, int flags, struct statx& out,
            transport::io_completion& done) noexcept override;
  void rename(const char* from, const char* to, transport::io_completion& done) noexcept override;
  void unlink(const char* path, int flags, transport::io_completion& done) noexcept override;
  void make_directory(const char* path, mode_t mode, transport::io_completion& done) noexcept override;
  void list(const char* path, transport::directory_listing& out,
            transport::io_completion& done) noexcept override;
  void close_file(int fd, transport::io_completion& done) noexcept override;
  void abandon_file(int fd) noexcept override;
  void cancel(transport::io_completion& done) noexcept override;

 private:
  using slot = transport::detail::io_slot;
  class pending;
  struct open_file {
    sim_disk::node node;
    int flags = 0;
  };
  struct fault {
    file_operation kind;
    std::uint32_t after;
    int errno_value;
  };

  slot& begin(transport::io_completion& done, file_operation kind, int fd, std::size_t bytes = 0) noexcept;
  void complete(pending& p) noexcept;
  std::int32_t carry_out(slot& s);
  std::int32_t perform(slot& s);
  std::int32_t perform_open(const slot& s);
  std::int32_t perform_read(const slot& s);
  std::int32_t perform_write(const slot& s);
  std::int32_t perform_stat(const slot& s);
  std::int32_t perform_close(int fd) noexcept;
  int injected(file_operation kind) noexcept;
  std::size_t count_of(std::size_t wanted);
  open_file* file_of(int fd) noexcept;

  executor& home_;
  sim_disk& disk_;
  sim_file_options options_;
  intrusive_list<pending> pending_;
  std::vector<open_file> files_;  // by descriptor
  std::vector<fault> faults_;
  std::uint64_t operations_ = 0;
  std::uint64_t crash_at_ = 0;
  bool crashed_ = false;
};

}  // namespace scoll::testing
