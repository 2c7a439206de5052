#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/detail/service_table.hpp"
#include "transport/io/buffer.hpp"

namespace scoll::detail {

/// The decoded request and replies of one operation, in storage from the frame pool. The service's table
/// knows how to handle them. Each pointer owns its value; null means that there is none.
class operation_values {
 public:
  operation_values() = default;
  ~operation_values() = default;
  operation_values(const operation_values&) = delete;
  operation_values& operator=(const operation_values&) = delete;

  void use(const service_table& table) noexcept { table_ = &table; }
  /// Destroys every value; `own_constructed` says whether `execute` has constructed its reply. The memory of
  /// `opaque` is kept.
  void clear(bool own_constructed) noexcept;

  status decode_request(std::span<const std::byte> bytes);
  void* request() const noexcept { return request_; }
  /// The most bytes of a reply that is merged of so many nodes.
  std::size_t reply_capacity(std::uint32_t nodes) const noexcept {
    const bool asks = table_->capacity_for != nullptr && request_ != nullptr;
    return asks ? table_->capacity_for(request_, nodes) : table_->reply_capacity;
  }

  /// Makes uninitialised room for the reply of `execute`.
  void* make_room_for_own();
  /// The room, with the reply once `execute` has constructed it; null when it is merged.
  void* own() const noexcept { return own_; }
  /// Merges the reply that `execute` has constructed in its room.
  void merge_own() noexcept { merge(own_); }
  /// Decodes a reply of this node that was kept, instead of executing.
  status decode_own(std::span<const std::byte> bytes);

  /// Decodes a value that a child sent. Several values of one child are merged with each other first.
  status add_arrived(std::span<const std::byte> bytes);
  void* arrived() const noexcept { return arrived_; }
  void drop_arrived() noexcept { drop(arrived_); }
  void merge_arrived() noexcept;
  /// Keeps the value for a hook that has not returned; it cannot be merged any more.
  void hold_arrived() noexcept;

  void* merged() const noexcept { return merged_; }
  void drop_merged() noexcept { drop(merged_); }
  /// Merges what another operation of the same service has merged.
  void merge_all_of(operation_values& other) noexcept {
    if (other.merged_ != nullptr) merge(other.merged_);
  }
  void hold_merged() noexcept;
  /// Puts the merged value aside, so that nothing is merged into it any more.
  void give_out() noexcept { given_ = std::exchange(merged_, nullptr); }
  void* given() const noexcept { return given_; }

  /// Values that a relay passes on unchanged.
  std::vector<transport::buffer_view> opaque;

 private:
  void drop(void*& value) noexcept;
  void merge(void*& value) noexcept;

  const service_table* table_ = nullptr;
  void* request_ = nullptr;
  void* own_ = nullptr;
  void* arrived_ = nullptr;
  void* merged_ = nullptr;
  void* given_ = nullptr;
  void* held_merged_ = nullptr;
  void* held_arrived_ = nullptr;
};

}  // namespace scoll::detail
