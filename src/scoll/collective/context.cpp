#include "scoll/collective/context.hpp"

#include <algorithm>

#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"

namespace scoll {

const operation_id& bcast_context::id() const noexcept {
  return operation_.subject_.head.operation;
}
const membership& bcast_context::members() const noexcept {
  return *operation_.subject_.group->members;
}
std::uint32_t bcast_context::rank() const noexcept {
  return operation_.subject_.group->self_rank;
}
std::uint32_t bcast_context::root_rank() const noexcept {
  return operation_.subject_.head.root_rank;
}
node_id bcast_context::caller() const noexcept {
  return operation_.caller_ ? operation_.caller_->id : root();
}
std::string_view bcast_context::caller_name() const noexcept {
  return operation_.caller_ ? operation_.caller_->name() : std::string_view();
}
std::uint32_t bcast_context::child_count() const noexcept {
  return static_cast<std::uint32_t>(operation_.children_.size());
}

std::uint32_t bcast_context::child_rank(std::uint32_t child) const noexcept {
  return operation_.subject_.rank_at(operation_.children_.all()[child].relative);
}

std::uint32_t bcast_context::child_subtree_nodes(std::uint32_t child) const noexcept {
  return operation_.children_.all()[child].nodes;
}

std::uint64_t bcast_context::child_subtree_entities(std::uint32_t child) const noexcept {
  std::uint64_t sum = 0;
  operation_.subject_.tree.subtree_ranges(
      operation_.subject_.members, operation_.children_.all()[child].relative,
      [&](std::uint32_t first, std::uint32_t last) {
        for (std::uint32_t r = first; r != last; ++r) {
          sum += members().entities(operation_.subject_.rank_at(r)).size();
        }
      });
  return sum;
}

time_limit bcast_context::remaining() const noexcept {
  const bool over = operation_.out_of_time() || operation_.answered();
  const time_point expires = operation_.times_.expires;
  return deadline(over ? std::min(expires, get_executor().now()) : expires);
}

stop_token bcast_context::stop() const noexcept {
  return operation_.stop_->token();
}
void bcast_context::extend_processing_bound(nanoseconds bound) noexcept {
  operation_.extend(bound);
}
std::optional<bulk_info> bcast_context::bulk() const noexcept {
  if (operation_.bulk_ == nullptr) return std::nullopt;
  return operation_.bulk_->info();
}

status bcast_context::receive_bulk(std::span<std::byte> place) {
  return receive_bulk({&place, 1});
}

status bcast_context::receive_bulk(std::span<const std::span<std::byte>> place) {
  if (operation_.bulk_ == nullptr) return error(errc::invalid_argument, "the broadcast has no bulk data");
  return operation_.bulk_->receive(place);
}

executor& bcast_context::get_executor() const noexcept {
  return operation_.engine_->get_executor();
}
worker_pool& bcast_context::pool() const {
  return operation_.engine_->pool();
}

}  // namespace scoll
