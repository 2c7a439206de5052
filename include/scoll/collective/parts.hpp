#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/detail/item_sink.hpp"
#include "scoll/detail/unsafe_temporary.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {

/// Says that the reply of a service is a stream of items: `using reply = scoll::parts<page>`. Every member
/// puts its items one by one, in `execute`; the root of the broadcast reads them while they come (`gather`),
/// or collects them (`bcast`).
///
/// As a value it is what has been collected: the items of each member in the order in which it put them,
/// those of different members in the order in which they came.
template <class T>
struct parts {
  struct item {
    std::uint32_t rank = 0;
    T value{};
    friend bool operator==(const item&, const item&) = default;
  };
  std::vector<item> items;

  friend bool operator==(const parts&, const parts&) = default;
};

/// The place into which `execute` puts its items. It is valid until `execute` returns.
template <class T>
class part_sink {
 public:
  explicit part_sink(detail::item_sink& into) noexcept : into_(into) {}

  /// Puts the next item: `co_await out.put(item)` gives a `status`. It waits while the items before have no
  /// place: on the way to the root each member holds a few parts of replies, and the reader at the root takes
  /// them when it likes. Put items one after the other: they keep their order. The item is encoded by the end
  /// of the await, to at most `max_item_bytes`.
  ///
  /// Errors, with which nothing has been put: the reason for which nobody awaits the items any more, as
  /// `bcast_context::stop` says (`deadline_exceeded`, `cancelled`, `revoked` and so on); `too_large`; `busy`
  /// (no buffer is left on this node).
  detail::item_sink::put_awaiter put(const T& item) noexcept { return {into_, &item, &encode}; }
  /// GCC 12 would destroy a temporary item that owns memory twice beside `co_await`: name it first.
  detail::item_sink::put_awaiter put(T&& item)
    requires detail::unsafe_temporary<T>
  = delete;

 private:
  static result<std::size_t> encode(const void* item, std::span<std::byte> into) noexcept {
    return wire::encode_to(into, *static_cast<const T*>(item));
  }

  detail::item_sink& into_;
};

}  // namespace scoll
