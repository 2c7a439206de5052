#include "installed_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include "object_name.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {

using namespace scoll::transport;  // the awaitables

using scoll::errc;

scoll::status check_installed_name(std::string_view name) {
  constexpr std::size_t longest = 128;
  if (name.empty() || name.size() > longest) {
    return scoll::make_error(errc::invalid_argument, "a name of {} bytes: it needs 1 to {}", name.size(),
                             longest);
  }
  if (name.front() == '.') return scoll::error(errc::invalid_argument, "the name begins with a dot");
  for (const char c : name) {
    if (!fits_file_name(c)) {
      return scoll::error(errc::invalid_argument,
                          "the name of an installed file has letters, digits and ._-+=,@ only");
    }
  }
  return {};
}

scoll::task<scoll::result<std::unique_ptr<installed_files>>> installed_files::open(file_system& files,
                                                                                   std::string folder) {
  std::unique_ptr<installed_files> opened(new installed_files(files, std::move(folder)));
  const auto prepared = co_await opened->prepare_folders();
  if (!prepared) co_return prepared.error();
  co_return std::move(opened);
}

scoll::task<scoll::status> installed_files::prepare_folders() {
  const auto made = co_await ensure_directory(files_, installed_folder());
  if (!made) co_return made;
  const std::string incoming = incoming_folder();
  const auto also_made = co_await ensure_directory(files_, incoming);
  if (!also_made) co_return also_made;
  directory_listing names;
  const auto listed = co_await async_list(files_, incoming.c_str(), names);
  if (!listed) co_return listed;
  for (const directory_entry& each : names) {
    const std::string path = incoming + "/" + each.name;
    const auto removed = co_await async_unlink(files_, path.c_str());
    if (removed) ++leftovers_;
  }
  co_return scoll::status{};
}

std::string installed_files::path_of(std::string_view name) const {
  return fmt::format("{}/{}", installed_folder(), name);
}

scoll::task<scoll::result<incoming_file>> installed_files::create(std::string name) {
  if (const auto good = check_installed_name(name); !good) co_return good.error();
  const std::string path = fmt::format("{}/{}.{}", incoming_folder(), name, ++created_);
  // A leftover that the start could not remove may have this name.
  auto opened = co_await async_open(files_, path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (!opened) co_return opened.error();
  co_return incoming_file(std::move(name), std::move(*opened));
}

scoll::task<scoll::status> installed_files::write(incoming_file& into, std::span<const std::byte> bytes) {
  const auto written = co_await write_all(into.file_, bytes, into.size_);
  if (!written) co_return written;
  into.size_ += bytes.size();
  into.hash_.add(bytes);
  co_return scoll::status{};
}

scoll::task<scoll::status> installed_files::commit(incoming_file& whole, std::uint64_t size,
                                                   std::uint64_t hash) {
  if (whole.size_ != size || whole.hash() != hash) {
    co_return scoll::make_error(errc::checksum_mismatch,
                                "{} bytes with the hash {:016x} have come, not {} with {:016x}", whole.size_,
                                whole.hash(), size, hash);
  }
  const auto synced = co_await async_sync(whole.file_);
  if (!synced) co_return synced;
  const std::string to = path_of(whole.name_);
  const auto renamed = co_await async_rename(files_, whole.file_.path().c_str(), to.c_str());
  if (!renamed) co_return renamed;
  const auto named = co_await sync_directory(files_, installed_folder());
  if (!named) co_return named;
  (co_await async_close(whole.file_)).ignore();
  co_return scoll::status{};
}

scoll::task<void> installed_files::remove(std::shared_ptr<incoming_file> unwanted) {
  (co_await async_unlink(files_, unwanted->file().path().c_str())).ignore();
}

}  // namespace shard
