#include "transport/memory/transfer.hpp"

#include <vector>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/writable.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

status check_transfer(endpoint& at, const region_descriptor& d, memory_order_kind operation,
                      std::uint64_t offset, std::uint64_t length) noexcept {
  if (d.node == at.options().self) {
    return error(errc::invalid_argument, "the region is this node's own: access its memory directly");
  }
  if (at.find(d.node) == nullptr) return make_error(errc::not_found, "node {} is not known here", d.node);
  if (const auto allowed = check_access(d.access, operation); !allowed) return allowed;
  return check_range(offset, length, d.length);
}

namespace {

memory_order_kind pull_kind(const transfer_options& options) noexcept {
  return options.checked ? memory_order_kind::checked_get : memory_order_kind::get;
}

memory_head head_of(const region_descriptor& d, memory_order_kind operation, std::uint64_t offset) noexcept {
  return {operation, d.region, d.incarnation, d.generation, offset, 0};
}

template <class Memory>
std::uint64_t bytes_of(std::span<Memory> pieces) noexcept {
  std::uint64_t sum = 0;
  for (const auto& piece : pieces) sum += piece.size();
  return sum;
}

task<status> carry(endpoint& at, session& to, transfer& t, transfer_options options) {
  if (SCOLL_MUTANT(bulk_deadline_not_armed, "no timer watches over a transfer")) options.deadline = {};
  if (SCOLL_MUTANT(bulk_stop_unheard, "the stop token of a transfer is not heard")) options.stop = {};
  deadline_stop stop(options.deadline.from(executor::current().now()), options.stop);
  if (stop.stop_requested()) co_return error(stop.reason(), "before the transfer had begun");
  at.memory().transfers().start(t, to, {options.window, options.segment_bytes});
  const status ended = co_await t.wait(stop.token());
  // The last segment may have arrived after the stop request. Then the transfer is complete, and there is
  // nothing left to stop.
  if (!ended && !t.finished()) {
    transfer_queue& transfers = at.memory().transfers();
    transfers.abandon(t, {stop.reason(), "the transfer was under way"});
    if (!t.finished()) co_await transfers.fenced(t);
  }
  co_return t.outcome();
}

task<push_status> carry_push(endpoint& at, session& to, transfer& t, transfer_options options) {
  if (options.checked) t.check_payloads();
  const status ended = co_await carry(at, to, t, options);
  co_return push_status(ended, t.may_have_written());
}

}  // namespace

task<status> pull(endpoint& at, region_descriptor from, std::uint64_t offset, std::span<std::byte> into,
                  transfer_options options) {
  if (const auto s = check_transfer(at, from, memory_order_kind::get, offset, into.size()); !s) co_return s;
  transfer t(head_of(from, pull_kind(options), offset), into);
  co_return co_await carry(at, *at.find(from.node), t, options);
}

task<status> pull(endpoint& at, region_descriptor from, std::uint64_t offset,
                  std::span<const std::span<std::byte>> into, transfer_options options) {
  if (const auto s = check_transfer(at, from, memory_order_kind::get, offset, bytes_of(into)); !s)
    co_return s;
  transfer t(head_of(from, pull_kind(options), offset), into);
  co_return co_await carry(at, *at.find(from.node), t, options);
}

task<push_status> push(endpoint& at, region_descriptor to, std::uint64_t offset,
                       std::span<const std::byte> from, transfer_options options) {
  if (const auto s = check_transfer(at, to, memory_order_kind::put, offset, from.size()); !s) {
    co_return push_status(s, false);
  }
  transfer t(head_of(to, memory_order_kind::put, offset), as_writable(from));
  co_return co_await carry_push(at, *at.find(to.node), t, options);
}

task<push_status> push(endpoint& at, region_descriptor to, std::uint64_t offset,
                       std::span<const std::span<const std::byte>> from, transfer_options options) {
  if (const auto s = check_transfer(at, to, memory_order_kind::put, offset, bytes_of(from)); !s) {
    co_return push_status(s, false);
  }
  const auto pieces = all_writable(from);
  transfer t(head_of(to, memory_order_kind::put, offset), std::span<const std::span<std::byte>>(pieces));
  co_return co_await carry_push(at, *at.find(to.node), t, options);
}

}  // namespace scoll::transport
