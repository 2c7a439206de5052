#include "transport/sim/sim_file_system.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/sim/wire_time.hpp"

namespace scoll::testing {
namespace {

// No real descriptor is that large, so closing one of these as if it were real does no harm.
constexpr int first_fd = 1 << 24;

const char* path_of(const transport::detail::io_slot& s) noexcept {
  return static_cast<const char*>(s.address);
}

}  // namespace

class sim_file_system::pending final : public timer_node, public list_hook<> {
 public:
  pending(sim_file_system& owner, transport::io_completion& done) noexcept
      : timer_node(&due), owner_(owner), done_(done) {}
  ~pending() = default;

  transport::io_completion& done() const noexcept { return done_; }
  slot& request() const noexcept { return slot_of(done_); }

 private:
  static void due(timer_node& node) noexcept {
    auto& self = static_cast<pending&>(node);
    self.owner_.complete(self);
  }
  sim_file_system& owner_;
  transport::io_completion& done_;
};

sim_file_system::sim_file_system(executor& home, sim_disk& disk, sim_file_options options)
    : home_(home), disk_(disk), options_(options) {}

sim_file_system::~sim_file_system() {
  SCOLL_ASSERT(pending_.empty(), "a simulated file system died with operations pending");
  SCOLL_ASSERT(open_files() == 0, "a simulated file system died before its files");
}

std::size_t sim_file_system::open_files() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(files_.begin(), files_.end(), [](const open_file& f) { return f.node != nullptr; }));
}

// ---- the way of an operation

sim_file_system::slot& sim_file_system::begin(transport::io_completion& done, file_operation kind, int fd,
                                              std::size_t bytes) noexcept {
  mark_pending(done);
  slot& s = slot_of(done);
  s.kind = kind;
  s.fd = fd;
  s.length = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, 0x7ffff000));
  s.cancelling = false;
  auto* const p = new pending(*this, done);
  pending_.push_back(*p);
  nanoseconds takes = options_.operation + byte_time(s.length, options_.ps_per_byte);
  if (kind == file_operation::sync) takes += options_.sync;
  home_.arm(*p, saturating_add(home_.now(), takes));
  return s;
}

void sim_file_system::complete(pending& p) noexcept {
  transport::io_completion& done = p.done();
  slot& s = p.request();
  p.unlink();
  const std::int32_t outcome = s.cancelling ? -ECANCELED : carry_out(s);
  delete &p;
  deliver(done, {outcome, false, nullptr});
}

std::int32_t sim_file_system::carry_out(slot& s) {
  if (crashed_) return -EIO;
  ++operations_;
  if (operations_ == crash_at_) {
    if (disk_.random().chance(1, 2)) static_cast<void>(perform(s));
    crash();
    return -EIO;
  }
  if (const int failed = injected(s.kind); failed != 0) {
    if (s.kind == file_operation::close) static_cast<void>(perform_close(s.fd));
    return -failed;
  }
  return perform(s);
}

void sim_file_system::crash() {
  if (crashed_) return;
  for (pending* p = pending_.first(); p != nullptr; p = pending_.next(*p)) {
    slot& s = p->request();
    if (s.kind == file_operation::write && disk_.random().chance(1, 2)) static_cast<void>(perform(s));
  }
  crashed_ = true;
  files_.clear();
  disk_.lose_power();
}

int sim_file_system::injected(file_operation kind) noexcept {
  int failed = 0;
  for (fault& f : faults_) {
    if (f.kind == kind && --f.after == 0 && failed == 0) failed = f.errno_value;
  }
  std::erase_if(faults_, [](const fault& f) { return f.after == 0; });
  return failed;
}

void sim_file_system::cancel(transport::io_completion& done) noexcept {
  for (pending* p = pending_.first(); p != nullptr; p = pending_.next(*p)) {
    if (&p->done() != &done || p->request().cancelling) continue;
    if (p->request().kind == file_operation::close) return;
    p->request().cancelling = true;
    home_.disarm(*p);
    home_.arm(*p, home_.now());
    return;
  }
}

// ---- effects

sim_file_system::open_file* sim_file_system::file_of(int fd) noexcept {
  const auto index = static_cast<std::size_t>(fd) - first_fd;
  return fd < first_fd || index >= files_.size() || files_[index].node == nullptr ? nullptr : &files_[index];
}

std::size_t sim_file_system::count_of(std::size_t wanted) {
  if (!options_.short_counts || wanted < 2 || disk_.random().chance(1, 2)) return wanted;
  return 1 + disk_.random().below(wanted);
}

std::int32_t sim_file_system::perform(slot& s) {
  switch (s.kind) {
    case file_operation::open: return perform_open(s);
    case file_operation::read: return perform_read(s);
    case file_operation::write: return perform_write(s);
    case file_operation::sync: {
      const open_file* const f = file_of(s.fd);
      if (f == nullptr) return -EBADF;
      disk_.sync(f->node);
      return 0;
    }
    case file_operation::stat: return perform_stat(s);
    case file_operation::rename: return disk_.rename(path_of(s), static_cast<const char*>(s.second));
    case file_operation::unlink: return disk_.unlink(path_of(s), (s.flags & AT_REMOVEDIR) != 0);
    case file_operation::make_directory: return disk_.make_directory(path_of(s), s.mode);
    case file_operation::list:
      return disk_.list(path_of(s), *static_cast<transport::directory_listing*>(s.second));
    case file_operation::close: return perform_close(s.fd);
    default: return -ENOSYS;
  }
}

std::int32_t sim_file_system::perform_open(const slot& s) {
  open_file opened{nullptr, static_cast<int>(s.flags)};
  if (s.fd != AT_FDCWD && path_of(s)[0] != '/') return -EBADF;
  if (const int failed = disk_.open(path_of(s), opened.flags, s.mode, opened.node); failed != 0)
    return failed;
  auto place = std::find_if(files_.begin(), files_.end(), [](const open_file& f) { return !f.node; });
  if (place == files_.end()) place = files_.emplace(files_.end());
  *place = std::move(opened);
  return first_fd + static_cast<int>(place - files_.begin());
}

std::int32_t sim_file_system::perform_read(const slot& s) {
  const open_file* const f = file_of(s.fd);
  if (f == nullptr || (f->flags & O_ACCMODE) == O_WRONLY) return -EBADF;
  if (f->node->directory) return -EISDIR;
  const auto bytes = f->node->bytes();
  if (s.offset >= bytes.size()) return 0;
  const std::size_t there = std::min<std::size_t>(s.length, bytes.size() - s.offset);
  const std::size_t n = count_of(there);
  if (n != 0) std::memcpy(s.second, bytes.data() + s.offset, n);
  return static_cast<std::int32_t>(n);
}

std::int32_t sim_file_system::perform_write(const slot& s) {
  const open_file* const f = file_of(s.fd);
  if (f == nullptr || (f->flags & O_ACCMODE) == O_RDONLY) return -EBADF;
  const std::size_t n = count_of(s.length);
  return disk_.write(*f->node, {static_cast<const std::byte*>(s.address), n}, s.offset);
}

std::int32_t sim_file_system::perform_stat(const slot& s) {
  sim_disk::node found;
  if ((s.flags & AT_EMPTY_PATH) != 0 && *path_of(s) == '\0') {
    const open_file* const f = file_of(s.fd);
    if (f == nullptr) return -EBADF;
    found = f->node;
  } else if (const int failed = disk_.find(path_of(s), found); failed != 0) {
    return failed;
  }
  auto& out = *static_cast<struct statx*>(s.second);
  out = {};
  out.stx_mask = STATX_TYPE | STATX_MODE | STATX_SIZE | STATX_NLINK;
  out.stx_mode = static_cast<std::uint16_t>((found->directory ? S_IFDIR : S_IFREG) | found->mode);
  out.stx_size = found->size();
  out.stx_nlink = 1;
  out.stx_blksize = sim_disk::sector_bytes;
  return 0;
}

std::int32_t sim_file_system::perform_close(int fd) noexcept {
  open_file* const f = file_of(fd);
  if (f == nullptr) return -EBADF;
  f->node.reset();
  return 0;
}

// ---- requests

void sim_file_system::open(int directory_fd, const char* path, int flags, mode_t mode,
                           transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::open, directory_fd);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  s.mode = mode;
}

void sim_file_system::read(int fd, std::span<std::byte> into, std::uint64_t offset,
                           transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::read, fd, into.size());
  s.second = into.data();
  s.offset = offset;
}

void sim_file_system::write(int fd, std::span<const std::byte> from, std::uint64_t offset,
                            transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::write, fd, from.size());
  s.address = from.data();
  s.offset = offset;
}

void sim_file_system::sync(int fd, transport::io_completion& done) noexcept {
  begin(done, file_operation::sync, fd);
}

void sim_file_system::stat(int directory_fd, const char* path, int flags, struct statx& out,
                           transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::stat, directory_fd);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  s.second = &out;
}

void sim_file_system::rename(const char* from, const char* to, transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::rename, -1);
  s.address = from;
  s.second = const_cast<char*>(to);
}

void sim_file_system::unlink(const char* path, int flags, transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::unlink, -1);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
}

void sim_file_system::make_directory(const char* path, mode_t mode, transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::make_directory, -1);
  s.address = path;
  s.mode = mode;
}

void sim_file_system::list(const char* path, transport::directory_listing& out,
                           transport::io_completion& done) noexcept {
  slot& s = begin(done, file_operation::list, -1);
  s.address = path;
  s.second = &out;
}

void sim_file_system::close_file(int fd, transport::io_completion& done) noexcept {
  begin(done, file_operation::close, fd);
}

void sim_file_system::abandon_file(int fd) noexcept {
  static_cast<void>(perform_close(fd));
}

}  // namespace scoll::testing
