#include "scoll/node_pools.hpp"

#include "scoll/collective/operation/operation.hpp"

namespace scoll {

node_pools::node_pools(std::size_t nodes) : buffers_(nodes) {}

node_pools::~node_pools() = default;

detail::operation& node_pools::acquire_operation() {
  if (idle_.empty()) add_operation();
  return idle_.pop_front();
}

void node_pools::add_operation() {
  operations_.push_back(std::make_unique<detail::operation>());
  idle_.push_back(*operations_.back());
}

void node_pools::provide_for_one_more() {
  if (idle_.empty()) add_operation();
  idle_.front().pool_two_frames();
}

void node_pools::release_operation(detail::operation& op, bool take_turns) noexcept {
  if (take_turns) {
    idle_.push_back(op);
  } else {
    idle_.push_front(op);
  }
}

std::span<std::byte> node_pools::scratch() {
  if (scratch_.empty()) scratch_.resize(transport::max_payload_bytes);
  return scratch_;
}

}  // namespace scoll
