#include "compose.hpp"

#include <cstring>
#include <stdexcept>
#include <utility>

#include "transport/wire/checksum.hpp"

namespace bench {

using namespace scoll::transport;

message& compose(endpoint& by, std::span<const std::byte> bytes) {
  message& m = by.acquire_message();
  m.set_head_bytes(0);
  const std::uint64_t checksum = scoll::wire::checksum(bytes);
  if (bytes.size() <= message::inline_payload_bytes) {
    m.copy_payload(bytes, checksum);
    return m;
  }
  buffer_ref buffer = by.acquire_payload();
  if (!buffer) throw std::runtime_error("no payload buffer left");
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  const std::span<const std::byte> copied(buffer.data(), bytes.size());
  m.share_payload({std::move(buffer), copied}, checksum);
  return m;
}

}  // namespace bench
