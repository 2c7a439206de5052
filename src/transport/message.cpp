#include "../../include/transport/message.hpp"

#include <algorithm>

#include "../../include/transport/wire/checksum.hpp"

namespace scoll::transport {
namespace {

const std::uint64_t empty_checksum = wire::checksum({});

}  // namespace

message& message_pool::acquire() {
  if (free_.empty()) {
    const std::size_t step = std::clamp<std::size_t>(created_, 1, largest_step);
    blocks_.push_back(std::make_unique<message[]>(step));
    created_ += step;
    for (std::size_t i = 0; i < step; ++i) free_.push_back(blocks_.back()[i]);
  }
  ++in_use_;
  message& m = free_.pop_front();
  m.header_ = {};
  m.header_.head_bytes = message::envelope_bytes;
  m.header_.payload_checksum = empty_checksum;
  m.requester_ = nullptr;
  return m;
}

void message_pool::release(message& m) noexcept {
  SCOLL_ASSERT(!m.linked(), "a message was released while it is in a list");
  m.payload_ = {};
  m.beside_.reset();
  --in_use_;
  free_.push_front(m);
}

}  // namespace scoll::transport
