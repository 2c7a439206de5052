#include "scoll/node_pools.hpp"

#include "scoll/collective/operation/operation.hpp"

namespace scoll {

node_pools::node_pools(std::size_t nodes) : buffers_(nodes) {}

node_pools::~node_pools() = default;

detail::operation& node_pools::acquire_operation() {
  if (idle_.empty()) {
    operations_.push_back(std::make_unique<detail::operation>());
    idle_.push_back(*operations_.back());
  }
  return idle_.pop_front();
}

void node_pools::release_operation(detail::operation& op) noexcept {
  idle_.push_front(op);
}

std::span<std::byte> node_pools::scratch() {
  if (scratch_.empty()) scratch_.resize(transport::max_payload_bytes);
  return scratch_;
}

}  // namespace scoll
