#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace shard {

/// Precedes every record in a file. The checksum covers the record alone; a wrong length makes it fail as well.
struct record_header {
  std::uint32_t bytes = 0;
  std::uint64_t checksum = 0;
};
inline constexpr std::size_t record_header_bytes = scoll::wire::fixed_size<record_header>;

template <class Record>
std::vector<std::byte> encode_checked(const Record& record) {
  const std::size_t size = scoll::wire::encoded_size(record);
  std::vector<std::byte> bytes(record_header_bytes + size);
  const auto body = std::span(bytes).subspan(record_header_bytes);
  scoll::wire::encode_to(body, record).ignore();
  const record_header header{static_cast<std::uint32_t>(size), scoll::wire::checksum(body)};
  scoll::wire::encode_to(std::span(bytes).first(record_header_bytes), header).ignore();
  return bytes;
}

/// Removes the record at the front of `bytes` and returns it, or nothing if there is no complete one.
template <class Record>
std::optional<Record> take_checked(std::span<const std::byte>& bytes) {
  if (bytes.size() < record_header_bytes) return std::nullopt;
  const auto header = scoll::wire::decode_from<record_header>(bytes.first(record_header_bytes));
  if (!header || header->bytes > bytes.size() - record_header_bytes) return std::nullopt;
  const auto body = bytes.subspan(record_header_bytes, header->bytes);
  if (scoll::wire::checksum(body) != header->checksum) return std::nullopt;
  auto record = scoll::wire::decode_from<Record>(body);
  if (!record) return std::nullopt;
  bytes = bytes.subspan(record_header_bytes + body.size());
  return std::move(*record);
}

}  // namespace shard
