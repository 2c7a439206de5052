#include "object_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <system_error>

#include "coro/error_format.hpp"
#include "object_name.hpp"
#include "transport/io_awaitables.hpp"

namespace shard {

namespace fs = std::filesystem;
using namespace scoll::transport;  // the awaitables

new_object::~new_object() {
  if (fd_) ::unlink(file_.c_str());
}

scoll::result<std::unique_ptr<object_store>> object_store::open(file_engine& files, const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder / "objects", failed);
  if (failed) return scoll::error::system(failed.value(), "create " + (folder / "objects").string());
  const std::string log_file = folder / "index.log";
  unique_fd log(::open(log_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!log) return scoll::error::system(errno, "open " + log_file);
  if (::flock(log.get(), LOCK_EX | LOCK_NB) != 0)
    return scoll::make_error(scoll::errc::busy, "another server uses {}", folder.string());
  auto index = load_index(log_file);
  if (!index) return index.error();
  if (index->torn_bytes != 0 && ::ftruncate(log.get(), static_cast<off_t>(index->good_bytes)) != 0)
    return scoll::error::system(errno, "truncate " + log_file);
  return std::unique_ptr<object_store>(
      new object_store(files, fs::absolute(folder), std::move(*index), std::move(log)));
}

object_store::object_store(file_engine& files, fs::path folder, loaded_index index, unique_fd log)
    : files_(files),
      folder_(std::move(folder)),
      torn_bytes_(index.torn_bytes),
      log_(files, std::move(log), index.good_bytes) {
  for (object_record& record : index.records) remember(std::move(record));
  remove_orphans();
}

void object_store::remember(object_record record) {
  generation_ = std::max(generation_, record.generation);
  bytes_ += record.size;
  const auto [at, added] = objects_.try_emplace(record.name);
  if (!added) bytes_ -= at->second.size;
  at->second = std::move(record);
}

void object_store::remove_orphans() {
  std::set<std::string> kept;
  for (const auto& [name, record] : objects_) kept.insert(file_of(record));
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "objects", ignored)) {
    if (entry.is_directory(ignored) || kept.contains(entry.path().string())) continue;
    if (fs::remove(entry.path(), ignored)) ++orphans_;
  }
}

const object_record* object_store::find(std::string_view name) const {
  const auto found = objects_.find(name);
  return found == objects_.end() ? nullptr : &found->second;
}

const object_record* object_store::next(std::string_view after) const {
  const auto found = objects_.upper_bound(after);
  return found == objects_.end() ? nullptr : &found->second;
}

std::string object_store::file_of(const object_record& record) const {
  return fmt::format("{}/objects/{:02x}/{}", folder_.string(), subfolder_of(record.name),
                     file_name_of(record.name, record.generation));
}

scoll::task<scoll::status> object_store::need_subfolder(std::uint8_t number) {
  if (subfolders_.test(number)) co_return scoll::status{};
  const std::string path = fmt::format("{}/objects/{:02x}", folder_.string(), number);
  const auto made = co_await async_make_directory(files_, path.c_str(), 0700);
  if (!made && made.error().detail() != EEXIST) co_return made.error();
  const auto kept = co_await sync_folder(folder_ / "objects");
  if (kept) subfolders_.set(number);
  co_return kept;
}

/// A new file survives a power failure when its folder does.
scoll::task<scoll::status> object_store::sync_folder(fs::path folder) {
  const auto fd = co_await async_open(files_, folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (!fd) co_return fd.error();
  co_return co_await async_sync(files_, fd->get());
}

scoll::task<scoll::result<new_object>> object_store::create(std::string name) {
  if (const auto good = check_name(name); !good) co_return good.error();
  object_record record;
  record.name = std::move(name);
  record.generation = ++generation_;
  const auto folder_made = co_await need_subfolder(subfolder_of(record.name));
  if (!folder_made) co_return folder_made.error();
  std::string file = file_of(record);
  auto fd = co_await async_open(files_, file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (!fd) co_return fd.error();
  co_return new_object(std::move(record), std::move(file), std::move(*fd));
}

scoll::task<scoll::status> object_store::write(new_object& object, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto n = co_await async_write(files_, object.fd_.get(), bytes, object.record_.size);
    if (!n) co_return n.error();
    if (*n == 0) co_return scoll::error::system(ENOSPC, "write");
    object.record_.size += *n;
    bytes = bytes.subspan(*n);
  }
  co_return scoll::status{};
}

scoll::task<scoll::status> object_store::commit(new_object& object, std::uint64_t hash, durability how) {
  object.record_.hash = hash;
  const bool durable = how == durability::disk;
  if (durable) {
    const auto synced = co_await async_sync(files_, object.fd_.get());
    if (!synced) co_return synced.error();
    const auto named = co_await sync_folder(fs::path(object.file_).parent_path());
    if (!named) co_return named.error();
  }
  const auto appended = co_await log_.append(object.record_, durable);
  if (!appended) co_return appended.error();

  std::string replaced;
  if (const object_record* old = find(object.record_.name)) replaced = file_of(*old);
  remember(object.record_);
  static_cast<void>(co_await async_close(files_, object.fd_.release()));
  if (!replaced.empty()) static_cast<void>(co_await async_unlink(files_, replaced.c_str()));
  co_return scoll::status{};
}

scoll::task<scoll::result<unique_fd>> object_store::open_to_read(const object_record& record,
                                                                 scoll::stop_token stop) {
  const std::string file = file_of(record);
  co_return co_await async_open(files_, file.c_str(), O_RDONLY | O_CLOEXEC, 0, stop);
}

}  // namespace shard
