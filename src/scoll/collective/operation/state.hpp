#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "scoll/collective/broadcast_caller.hpp"
#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/child.hpp"
#include "scoll/collective/operation/hooks.hpp"
#include "scoll/collective/operation/parts.hpp"
#include "scoll/collective/operation/subject.hpp"
#include "scoll/collective/operation/times.hpp"
#include "scoll/collective/operation/values.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/coro/gate.hpp"

namespace scoll::detail {

class operation_bulk;
class operation_trace;
class reply_stream;

/// What an operation knows: whom it is for, what has been asked, answered and settled, and how it ends.
class operation_state {
 protected:
  operation_state();
  ~operation_state();

  enum class stage : std::uint8_t { idle, running, answered, ended };

  engine* engine_ = nullptr;  // the engine that runs it now
  gate_pass in_node_;
  gate_pass in_service_;
  operation_subject subject_;
  request_data request_;
  std::unique_ptr<loaded_request> loaded_;
  operation_values values_;
  raw_arrival arrival_{};
  child_table children_;
  hook_set hooks_;
  own_part own_;
  operation_bulk* bulk_ = nullptr;          // null without bulk data
  std::unique_ptr<operation_trace> trace_;  // null unless the root asks for a trace
  std::unique_ptr<reply_stream> stream_;    // null unless members stream their replies
  std::optional<broadcast_caller> caller_;
  outcome_builder outcome_;
  operation_times times_;
  operation_ending ending_;
  operation_result result_;
  root_side root_;
  stage stage_ = stage::idle;
  std::uint32_t reply_limit_ = 0;
  std::size_t reserved_ = 0;  // of the node's memory for parts of replies
};

}  // namespace scoll::detail
