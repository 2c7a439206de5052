#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "scoll/collective/bcast_result.hpp"
#include "scoll/collective/group.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/parts.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/item_reader.hpp"
#include "scoll/detail/service_table.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {

/// A broadcast whose members stream their replies, while it runs and afterwards; `gather` makes it. It can be
/// moved. Destroying it ends the broadcast: members that still put items are told to stop. It must not
/// outlive the node. Thread: the node's.
template <collective_service S>
  requires detail::streams<S>
class [[nodiscard]] gathering {
 public:
  using item = typename detail::reply_t<S>::item;

  explicit gathering(std::shared_ptr<detail::item_reader> from) noexcept : from_(std::move(from)) {}
  gathering(gathering&&) noexcept = default;
  gathering& operator=(gathering&& other) noexcept {
    const gathering before(std::exchange(from_, std::exchange(other.from_, nullptr)));  // ends here
    return *this;
  }
  ~gathering() {
    if (from_ != nullptr) from_->give_up();
  }

  class [[nodiscard]] next_awaiter : private detail::item_waiter {
   public:
    explicit next_awaiter(detail::item_reader& from) noexcept : item_waiter(&advance), from_(from) {}
    bool await_ready() noexcept { return advance(*this); }
    void await_suspend(std::coroutine_handle<> waiter) noexcept { from_.wait(*this, waiter); }
    std::optional<item> await_resume() noexcept { return std::move(item_); }

   private:
    static bool advance(item_waiter& self) noexcept;

    detail::item_reader& from_;
    std::optional<item> item_;
  };

  /// `co_await g.next()` gives the next item, with the rank of the member that put it; nothing once the
  /// broadcast has ended and all items have been given. The items of one member come in the order in which it
  /// put them. Whoever takes no items holds the members back, and nothing piles up; the broadcast then ends
  /// with its limit. One coroutine at a time may wait. The await is not cancelled by itself: a stop of the
  /// broadcast (`bcast_options::stop`) ends it.
  next_awaiter next() noexcept { return next_awaiter(*from_); }

  // These may be called once `next` has given nothing.

  /// Ok if every member is merged: it executed, and all its items were given. Otherwise the errors are those
  /// of a broadcast (`bcast`).
  const scoll::status& status() const noexcept { return from_->how(); }
  bool ok() const noexcept { return status().has_value(); }
  /// The account of all members. Items of members that are not merged may have been given, too, and some may
  /// be missing.
  const scoll::outcome& outcome() const noexcept { return from_->account(); }

  /// Gives up an item, and ends the broadcast. The member that put it has executed then, and nothing more,
  /// for this reason; those that still put items are told to stop.
  void end_early(std::uint32_t rank, const error& why) {
    from_->lose(rank, why);
    from_->end_early();
  }

 private:
  std::shared_ptr<detail::item_reader> from_;
};

template <collective_service S>
  requires detail::streams<S>
bool gathering<S>::next_awaiter::advance(detail::item_waiter& self) noexcept {
  auto& waiting = static_cast<next_awaiter&>(self);
  while (const auto raw = waiting.from_.take()) {
    item& got = waiting.item_.emplace();
    got.rank = raw->rank;
    const scoll::status read = detail::decode_into(got.value, raw->bytes);
    if (read) return true;
    waiting.item_.reset();
    waiting.from_.lose(raw->rank, read.error());
  }
  return waiting.from_.is_over();
}

/// Broadcasts `request` to every member of `g`, this node included, and gives the items that the members put,
/// one by one, while they come: `auto all = scoll::gather(group, request, {.deadline = 5s});` and then `auto
/// item = co_await all.next();` until it gives nothing. The broadcast begins at once, and the request is
/// encoded before this returns.
///
/// The options are those of `bcast`. A broadcast without a deadline is bounded by the processing bound of the
/// service as any other, and the time in which the reader takes no items counts. Errors are in the
/// `gathering`'s status: those of `bcast`, `busy` (this node has no memory for a part of each child's reply,
/// `node_options::reply_memory`), and `unsupported` (together with bulk data, `until`, `on_failure` or
/// `trace`).
template <collective_service S>
  requires detail::streams<S>
gathering<S> gather(const group<S>& g, const std::type_identity_t<detail::request_t<S>>& request,
                    const bcast_options& options = {}) {
  return gathering<S>(detail::begin_gather(g, detail::table_of<S>, &request, options));
}

namespace detail {

/// Collects the items of the members that are merged in the end.
template <collective_service S>
task<bcast_result<reply_t<S>>> collect(gathering<S> from, std::size_t limit) {
  reply_t<S> all;
  std::size_t bytes = 0;
  error full;
  for (;;) {
    auto item = co_await from.next();
    if (!item) break;
    bytes += wire::encoded_size(item->value);
    if (bytes <= limit) {
      all.items.push_back(std::move(*item));
      continue;
    }
    if (!full) full = error(errc::too_large, "the items have more bytes than bcast_options::collect_limit");
    from.end_early(item->rank, full);
  }
  const rank_set merged = from.outcome().merged();
  std::erase_if(all.items, [&](const auto& item) { return !merged.contains(item.rank); });
  std::optional<reply_t<S>> value;
  if (!merged.empty()) value.emplace(std::move(all));
  co_return bcast_result<reply_t<S>>(full ? status(full) : from.status(), std::move(value), from.outcome());
}

}  // namespace detail

}  // namespace scoll
