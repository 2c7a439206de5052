#include <array>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/operation.hpp"

// The engine describes the operations that are under way.
namespace scoll::detail {
namespace {

std::string_view kind_name(std::uint8_t kind) noexcept {
  constexpr std::array<std::string_view, 7> names{"broadcast", "create",  "forget", "sweep",
                                                  "end",       "members", "bulk"};
  return kind < names.size() ? names[kind] : "unknown";
}

}  // namespace

std::vector<operation_snapshot> engine::describe_operations(std::size_t first, std::size_t most) const {
  std::vector<operation_snapshot> found;
  auto& live = const_cast<intrusive_list<operation>&>(live_);
  std::size_t index = 0;
  for (operation* op = live.first(); op != nullptr && found.size() < most; op = live.next(*op)) {
    if (index++ < first) continue;
    const operation_subject& of = op->subject_;
    operation_snapshot s;
    s.kind = kind_name(of.head.kind);
    s.service = of.table != nullptr ? of.table->name : std::string_view();
    s.group = of.group->name.text();
    s.group_number = of.group->id;
    s.root = of.head.operation.root;
    s.counter = of.head.operation.counter;
    if (op->stage_ != operation::stage::idle) s.age = executor_.now() - op->times_.started;
    const bool stopping = op->ending_.cause != end_cause::none || op->times_.expired;
    s.stage = op->answered() ? "answered" : stopping ? "stopping" : "running";
    for (const char* hook : op->running_hooks()) s.hooks.append(s.hooks.empty() ? "" : " ").append(hook);
    s.children = op->children_.size();
    s.unanswered = op->children_.unsettled;
    found.push_back(std::move(s));
  }
  return found;
}

}  // namespace scoll::detail
