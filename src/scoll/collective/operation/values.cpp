#include "scoll/collective/operation/values.hpp"

#include <utility>

#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

void operation_values::clear(bool own_constructed) noexcept {
  if (request_ != nullptr) {
    table_->destroy_request(request_);
    frame_pool::deallocate(std::exchange(request_, nullptr), table_->request_size);
  }
  if (own_ != nullptr) {
    if (own_constructed) table_->destroy_reply(own_);
    frame_pool::deallocate(std::exchange(own_, nullptr), table_->reply_size);
  }
  if (merged_ != nullptr) drop(merged_);
  if (arrived_ != nullptr) drop(arrived_);
  if (given_ != nullptr) drop(given_);
  if (held_merged_ != nullptr) drop(held_merged_);
  if (held_arrived_ != nullptr) drop(held_arrived_);
  opaque.clear();
}

status operation_values::decode_request(std::span<const std::byte> bytes) {
  request_ = frame_pool::allocate(table_->request_size);
  status decoded = table_->decode_request(request_, bytes);
  if (!decoded) frame_pool::deallocate(std::exchange(request_, nullptr), table_->request_size);
  return decoded;
}

void* operation_values::make_room_for_own() {
  own_ = frame_pool::allocate(table_->reply_size);
  return own_;
}

status operation_values::decode_own(std::span<const std::byte> bytes) {
  status decoded = table_->decode_reply(make_room_for_own(), bytes);
  if (!decoded) frame_pool::deallocate(std::exchange(own_, nullptr), table_->reply_size);
  return decoded;
}

status operation_values::add_arrived(std::span<const std::byte> bytes) {
  void* at = frame_pool::allocate(table_->reply_size);
  status decoded = table_->decode_reply(at, bytes);
  if (!decoded) {
    frame_pool::deallocate(at, table_->reply_size);
    return decoded;
  }
  if (arrived_ == nullptr) {
    arrived_ = at;
  } else {
    table_->merge(arrived_, at);
    drop(at);
  }
  return {};
}

void operation_values::merge_arrived() noexcept {
  if (SCOLL_MUTANT(double_merge, "a child's value is merged twice") && arrived_ != nullptr &&
      merged_ != nullptr)
    table_->merge(merged_, arrived_);
  if (arrived_ != nullptr) merge(arrived_);
}

void operation_values::hold_arrived() noexcept {
  held_arrived_ = std::exchange(arrived_, nullptr);
}

void operation_values::hold_merged() noexcept {
  held_merged_ = std::exchange(merged_, nullptr);
}

void operation_values::drop(void*& value) noexcept {
  if (value == nullptr) return;
  table_->destroy_reply(value);
  frame_pool::deallocate(std::exchange(value, nullptr), table_->reply_size);
}

/// Takes over a value and merges it into the reply; the first value becomes the reply.
void operation_values::merge(void*& value) noexcept {
  if (merged_ == nullptr) {
    merged_ = std::exchange(value, nullptr);
    return;
  }
  table_->merge(merged_, value);
  drop(value);
}

}  // namespace scoll::detail
