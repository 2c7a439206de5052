#include "transport/verbs/datagrams/datagram_wire.hpp"

#include "scoll/coro/assert.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t checked_bytes = name_message_bytes - sizeof(std::uint64_t);

}  // namespace

static_assert(wire::max_encoded_size<datagram_header> == datagram_header_bytes);
static_assert(wire::max_encoded_size<name_message> == name_message_bytes);

void write_header(header_bytes into, const datagram_header& header) noexcept {
  const auto size = wire::encode_to(into, header);
  SCOLL_ASSERT(size.has_value(), "a header of a datagram does not fit");
}

std::optional<datagram_header> read_header(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < datagram_header_bytes) return std::nullopt;
  const auto read = wire::decode_from<datagram_header>(bytes.first(datagram_header_bytes));
  if (!read || read->magic != datagram_header::right_magic || read->reserved != 0 || read->epoch == 0)
    return std::nullopt;
  return *read;
}

std::array<std::byte, name_message_bytes> encoded(name_message message) noexcept {
  std::array<std::byte, name_message_bytes> bytes{};
  message.checksum = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const auto size = wire::encode_to(bytes, message);
    SCOLL_ASSERT(size.has_value(), "a message about names does not fit");
    message.checksum = wire::checksum(std::span(bytes).first(checked_bytes));
  }
  return bytes;
}

std::optional<name_message> read_name_message(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != name_message_bytes) return std::nullopt;
  const auto read = wire::decode_from<name_message>(bytes);
  if (!read || read->magic != name_message::right_magic || read->version != name_message::right_version ||
      read->checksum != wire::checksum(bytes.first(checked_bytes)))
    return std::nullopt;
  const bool answers = read->kind == name_message::what::answer;
  if (answers ? read->where.epoch == 0 : read->where != whereabouts{}) return std::nullopt;
  return *read;
}

}  // namespace scoll::transport::verbs
