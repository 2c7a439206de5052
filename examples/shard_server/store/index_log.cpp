#include "index_log.hpp"

#include <span>
#include <utility>

#include "checked_record.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {
namespace {

using namespace scoll::transport;  // the awaitables

constexpr std::size_t most_bytes = std::size_t{1} << 30;

loaded_index parse(std::span<const std::byte> content) {
  loaded_index index;
  std::span<const std::byte> rest = content;
  while (auto record = take_checked<object_record>(rest)) index.records.push_back(std::move(*record));
  index.torn_bytes = rest.size();
  index.good_bytes = content.size() - rest.size();
  return index;
}

}  // namespace

scoll::task<scoll::result<index_log>> index_log::open(file_system& files, std::string path,
                                                      loaded_index& index) {
  auto content = co_await read_file(files, path, most_bytes);
  const bool missing = !content && no_such_file(content.error());
  if (!content && !missing) co_return content.error();
  if (content) index = parse(*content);
  if (missing || index.torn_bytes != 0) {
    std::span<const std::byte> good;
    if (content) good = std::span(*content).first(index.good_bytes);
    const auto kept = co_await replace_file(files, path, good);
    if (!kept) co_return kept.error();
  }
  auto opened = co_await async_open(files, path.c_str(), O_WRONLY | O_CLOEXEC);
  if (!opened) co_return opened.error();
  co_return index_log(std::move(*opened), index.good_bytes);
}

scoll::task<scoll::status> index_log::append(const object_record& record, bool durable) {
  const std::vector<std::byte> bytes = encode_checked(record);
  co_await writing_->acquire();
  const scoll::status written = co_await write_at_end(bytes, durable);
  writing_->release();
  co_return written;
}

scoll::task<scoll::status> index_log::write_at_end(const std::vector<std::byte>& bytes, bool durable) {
  const auto written = co_await write_all(file_, bytes, size_);
  if (!written) co_return written;
  if (durable) {
    const auto synced = co_await async_sync(file_);
    if (!synced) co_return synced;
  }
  size_ += bytes.size();
  co_return scoll::status{};
}

}  // namespace shard
