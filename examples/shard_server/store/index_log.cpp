#include "index_log.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <span>

#include "transport/io_awaitables.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace shard {
namespace {

/// Before every record. The checksum covers the record alone: a wrong length makes it fail as well.
struct record_header {
  std::uint32_t bytes = 0;
  std::uint64_t checksum = 0;
};
constexpr std::size_t header_bytes = scoll::wire::fixed_size<record_header>;

std::vector<std::byte> encode(const object_record& record) {
  const std::size_t size = scoll::wire::encoded_size(record);
  std::vector<std::byte> bytes(header_bytes + size);
  const auto body = std::span(bytes).subspan(header_bytes);
  static_cast<void>(scoll::wire::encode_to(body, record));
  const record_header header{static_cast<std::uint32_t>(size), scoll::wire::checksum(body)};
  static_cast<void>(scoll::wire::encode_to(std::span(bytes).first(header_bytes), header));
  return bytes;
}

/// The record at the front of `bytes`, which it is removed from; nothing if there is no whole one.
std::optional<object_record> take_record(std::span<const std::byte>& bytes) {
  if (bytes.size() < header_bytes) return std::nullopt;
  const auto header = scoll::wire::decode_from<record_header>(bytes.first(header_bytes));
  if (!header || header->bytes > bytes.size() - header_bytes) return std::nullopt;
  const auto body = bytes.subspan(header_bytes, header->bytes);
  if (scoll::wire::checksum(body) != header->checksum) return std::nullopt;
  auto record = scoll::wire::decode_from<object_record>(body);
  if (!record) return std::nullopt;
  bytes = bytes.subspan(header_bytes + body.size());
  return std::move(*record);
}

}  // namespace

scoll::result<loaded_index> load_index(const std::filesystem::path& file) {
  loaded_index index;
  if (!std::filesystem::exists(file)) return index;
  std::ifstream in(file, std::ios::binary);
  const std::vector<char> content{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) return scoll::error::system(errno, "read " + file.string());
  std::span<const std::byte> rest = std::as_bytes(std::span(content));
  while (auto record = take_record(rest)) index.records.push_back(std::move(*record));
  index.torn_bytes = rest.size();
  index.good_bytes = content.size() - rest.size();
  return index;
}

scoll::task<scoll::status> index_log::append(const object_record& record, bool durable) {
  const std::vector<std::byte> bytes = encode(record);
  co_await writing_.acquire();
  const scoll::status written = co_await write_at_end(bytes, durable);
  writing_.release();
  co_return written;
}

scoll::task<scoll::status> index_log::write_at_end(const std::vector<std::byte>& bytes, bool durable) {
  std::span<const std::byte> rest = bytes;
  while (!rest.empty()) {
    const std::uint64_t at = size_ + bytes.size() - rest.size();
    const auto n = co_await scoll::transport::async_write(files_, file_.get(), rest, at);
    if (!n) co_return n.error();
    if (*n == 0) co_return scoll::error::system(ENOSPC, "write to the index");
    rest = rest.subspan(*n);
  }
  if (durable) {
    const auto synced = co_await scoll::transport::async_sync(files_, file_.get());
    if (!synced) co_return synced.error();
  }
  size_ += bytes.size();
  co_return scoll::status{};
}

}  // namespace shard
