#include "transport/sim/verbs/fake_windows.hpp"

#include <algorithm>
#include <utility>

#include "transport/sim/verbs/fake_context.hpp"
#include "transport/sim/verbs/fake_pair.hpp"

namespace scoll::testing {

using transport::verbs::completion;

std::size_t fake_windows::bound() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(windows_, [](const window& w) { return w.memory != nullptr; }));
}

const std::byte* fake_windows::find(std::uint32_t key, std::uint64_t address,
                                    std::size_t size) const noexcept {
  const auto found = std::ranges::find_if(
      windows_, [key](const window& w) { return w.memory != nullptr && w.bound_key == key; });
  if (found == windows_.end()) return nullptr;
  const std::uint64_t offset = address - found->address;
  const std::size_t length = found->bytes.size();
  return offset <= length && size <= length - offset ? found->bytes.data() + offset : nullptr;
}

bool fake_windows::use(const transport::verbs::memory_object* memory) const noexcept {
  return std::ranges::any_of(windows_, [memory](const window& w) { return w.memory == memory; });
}

void fake_windows::post(const transport::verbs::window_request& what, std::size_t reads) noexcept {
  if (what.memory != nullptr) windows_[what.window].key = pair_.fabric().next_key();
  posted_.push_back({what, windows_[what.window].key, reads});
  work();
}

void fake_windows::on_read_complete() noexcept {
  for (std::size_t i = 0; i < posted_.size(); ++i)
    posted_[i].reads_before -= posted_[i].reads_before == 0 ? 0U : 1U;
  work();
}

void fake_windows::work() noexcept {
  while (!posted_.empty() && posted_.front().reads_before == 0) {
    const posted next = posted_.front();
    if (!perform(next)) {
      ++pair_.fabric().statistics.illegal_calls;
      return pair_.fail(completion::result::failed);
    }
    posted_.pop_front();
    pair_.complete(next.request.tag, completion::result::success);
  }
}

/// Returns false if a real device would refuse it.
bool fake_windows::perform(const posted& what) noexcept {
  window& w = windows_[what.request.window];
  const bool binds = what.request.memory != nullptr;
  if (binds != (w.memory == nullptr)) return false;
  if (!binds) {
    w.memory = nullptr;
    return true;
  }
  const auto address = pair_.device().address_in_window(what.request.memory, what.request.bytes);
  if (!address) return false;
  ++pair_.fabric().statistics.windows_bound;
  w = {w.key, what.key, what.request.memory, *address, what.request.bytes};
  return true;
}

void fake_windows::fail() noexcept {
  for (; !posted_.empty(); posted_.pop_front())
    pair_.complete(posted_.front().request.tag, completion::result::flushed);
}

}  // namespace scoll::testing
