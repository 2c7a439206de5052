#include "object_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "object_name.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {

using namespace scoll::transport;  // the awaitables

new_object::~new_object() {
  if (store_ != nullptr) store_->abandoned_.push_back(file_.path());
}

scoll::task<scoll::result<std::unique_ptr<object_store>>> object_store::open(file_system& files,
                                                                             std::string folder) {
  const auto made = co_await ensure_directory(files, folder + "/objects");
  if (!made) co_return made.error();
  loaded_index index;
  auto log = co_await index_log::open(files, folder + "/index.log", index);
  if (!log) co_return log.error();
  std::unique_ptr<object_store> store(
      new object_store(files, std::move(folder), std::move(index), std::move(*log)));
  const auto tidy = co_await store->remove_orphans();
  if (!tidy) co_return tidy.error();
  co_return std::move(store);
}

object_store::object_store(file_system& files, std::string folder, loaded_index index, index_log log)
    : files_(files), folder_(std::move(folder)), torn_bytes_(index.torn_bytes), log_(std::move(log)) {
  for (object_record& record : index.records) remember(std::move(record));
}

void object_store::remember(object_record record) {
  generation_ = std::max(generation_, record.generation);
  bytes_ += record.size;
  const auto [at, added] = objects_.try_emplace(record.name);
  if (!added) bytes_ -= at->second.size;
  at->second = std::move(record);
}

scoll::task<scoll::status> object_store::remove_orphans() {
  std::set<std::string> kept;
  for (const auto& [name, record] : objects_) kept.insert(file_of(record));
  const std::string all = objects_folder();
  directory_listing subfolders;
  const auto listed = co_await async_list(files_, all.c_str(), subfolders);
  if (!listed) co_return listed;
  for (const directory_entry& each : subfolders) {
    if (!each.directory) continue;
    const auto tidy = co_await remove_orphans_of(all + "/" + each.name, kept);
    if (!tidy) co_return tidy;
  }
  co_return scoll::status{};
}

/// A file that cannot be removed does no harm.
scoll::task<scoll::status> object_store::remove_orphans_of(std::string subfolder,
                                                           const std::set<std::string>& kept) {
  directory_listing names;
  const auto listed = co_await async_list(files_, subfolder.c_str(), names);
  if (!listed) co_return listed;
  for (const directory_entry& each : names) {
    const std::string path = subfolder + "/" + each.name;
    if (each.directory || kept.contains(path)) continue;
    const auto removed = co_await async_unlink(files_, path.c_str());
    if (removed) ++orphans_;
  }
  co_return scoll::status{};
}

scoll::task<void> object_store::remove_abandoned() {
  while (!abandoned_.empty()) {
    const std::string path = std::move(abandoned_.back());
    abandoned_.pop_back();
    (co_await async_unlink(files_, path.c_str())).ignore();
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
  return fmt::format("{}/{:02x}/{}", objects_folder(), subfolder_of(record.name),
                     file_name_of(record.name, record.generation));
}

scoll::task<scoll::status> object_store::need_subfolder(std::uint8_t number) {
  if (subfolders_.test(number)) co_return scoll::status{};
  const auto made = co_await ensure_directory(files_, fmt::format("{}/{:02x}", objects_folder(), number));
  if (made) subfolders_.set(number);
  co_return made;
}

scoll::task<scoll::result<new_object>> object_store::create(std::string name) {
  if (const auto good = check_name(name); !good) co_return good.error();
  co_await remove_abandoned();
  object_record record;
  record.name = std::move(name);
  record.generation = ++generation_;
  const auto folder_made = co_await need_subfolder(subfolder_of(record.name));
  if (!folder_made) co_return folder_made.error();
  const std::string path = file_of(record);
  auto opened = co_await async_open(files_, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (!opened) co_return opened.error();
  co_return new_object(*this, std::move(record), std::move(*opened));
}

scoll::task<scoll::status> object_store::write(new_object& object, std::span<const std::byte> bytes) {
  const auto written = co_await write_all(object.file_, bytes, object.record_.size);
  if (written) object.record_.size += bytes.size();
  co_return written;
}

scoll::task<scoll::status> object_store::commit(new_object& object, std::uint64_t hash, durability how) {
  object.record_.hash = hash;
  const bool durable = how == durability::disk || find(object.record_.name) != nullptr;
  if (durable) {
    const auto synced = co_await async_sync(object.file_);
    if (!synced) co_return synced;
    const auto named = co_await sync_directory(files_, parent_directory(object.file_.path()));
    if (!named) co_return named;
  }
  object.store_ = nullptr;  // from here on the index may refer to the file, whatever the append reports
  const auto appended = co_await log_.append(object.record_, durable);
  if (!appended) co_return appended;

  std::string replaced;
  if (const object_record* old = find(object.record_.name)) replaced = file_of(*old);
  remember(object.record_);
  (co_await async_close(object.file_)).ignore();
  if (!replaced.empty()) (co_await async_unlink(files_, replaced.c_str())).ignore();
  co_return scoll::status{};
}

scoll::task<scoll::result<file>> object_store::open_to_read(const object_record& record,
                                                            scoll::stop_token stop) {
  const std::string path = file_of(record);
  co_return co_await async_open(files_, path.c_str(), O_RDONLY | O_CLOEXEC, 0, stop);
}

}  // namespace shard
