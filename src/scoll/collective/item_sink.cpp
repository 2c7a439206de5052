#include "scoll/detail/item_sink.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "scoll/collective/item_run.hpp"
#include "scoll/collective/size_limits.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/byte_order.hpp"

namespace scoll::detail {

static_assert(max_item_bytes + item_length_bytes + most_run_head_bytes <= transport::max_payload_bytes);
static_assert(most_run_head_bytes <= 32);

bool item_sink::offer(put_awaiter& by) noexcept {
  if (closed_) {
    by.outcome_ = why_over();
    return true;
  }
  return waiting_.empty() && try_take(by);
}

/// Returns false if there is no room. Otherwise the `put` has ended, perhaps with an error.
bool item_sink::try_take(put_awaiter& by) noexcept {
  if (!buffer_) {
    buffer_ = wire_.acquire_payload();
    used_ = most_run_head_bytes;
  }
  if (!buffer_) {
    by.outcome_ = wire_.no_payload_left("items of a reply");
    return true;
  }
  const std::size_t at = used_ + item_length_bytes;
  const std::size_t room = transport::max_payload_bytes - std::min(transport::max_payload_bytes, at);
  const auto size = by.encode_(by.item_, {buffer_.data() + at, std::min(room, max_item_bytes)});
  if (size) {
    wire::detail::store_little(buffer_.data() + used_, static_cast<std::uint32_t>(*size));
    used_ = at + *size;
    ++count_;
    progress_.set();
    return true;
  }
  if (size.error() == errc::too_large && count_ != 0) return false;
  by.outcome_ = size.error();
  return true;
}

transport::buffer_view item_sink::take(std::uint32_t relative, bool last) noexcept {
  if (last && SCOLL_MUTANT(stream_tail_forgotten, "what a member puts at the end is forgotten")) {
    count_ = 0;
    used_ = most_run_head_bytes;
  }
  wire::writer out(head_alone_);
  put_run_head(out, {relative, first_, count_, last, {}});
  const std::span<const std::byte> head = out.written();
  first_ += std::exchange(count_, 0);
  if (!buffer_) return {{}, head};
  std::byte* const begin = buffer_.data() + most_run_head_bytes - head.size();
  std::ranges::copy(head, begin);
  const std::span<const std::byte> run(begin, buffer_.data() + used_);
  return {std::exchange(buffer_, {}), run};
}

void item_sink::refill() noexcept {
  while (!waiting_.empty()) {
    auto& by = static_cast<put_awaiter&>(waiting_.front());
    if (!try_take(by)) return;
    by.wake();
  }
}

void item_sink::close() noexcept {
  closed_ = true;
  waiting_.wake_all(errc::cancelled);
}

}  // namespace scoll::detail
