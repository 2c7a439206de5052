#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "scoll/collective/aggregate.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/detail/borrows.hpp"
#include "scoll/detail/status_and_value.hpp"
#include "transport/wire/wire.hpp"

namespace scoll {

/// The most bytes that a value of `group::agree`, and the merged value of all members, may have, encoded.
inline constexpr std::size_t max_agreed_bytes = 1024;

/// Decides which members an agreement needs.
enum class agreement_quorum : std::uint8_t {
  /// More than half of all members of the group, dead ones included. Two outcomes are impossible, whatever
  /// verdicts say.
  majority = 0,
  /// All members that are not held dead. They decide even if only one of them is left, and wait until the
  /// deadline for a member that does not answer and that nobody holds dead. If a verdict is wrong, or if a
  /// partition makes each side call the other dead, the sides decide differently.
  survivors = 1,
};

/// Options of one `group::agree`. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct agree_options {
  /// The time to wait for the outcome. The call ends with `undecided` when it is over.
  time_limit deadline = std::chrono::seconds(10);
  /// The members that have to take part. All members must choose the same quorum.
  agreement_quorum quorum = agreement_quorum::majority;
  /// When this token fires, the call ends with `cancelled`. The value of this member still counts.
  stop_token stop{};
};
static_assert(std::is_trivially_copyable_v<agree_options>);

/// A type that members can agree on: encodable, owning its contents, and with a `merge` of its own or of all
/// its members.
template <class T>
concept agreeable =
    wire::encodable<T> && !detail::borrows<T>() && (mergeable<T> || detail::memberwise_mergeable<T>);

/// The result of an agreement: a status, and the outcome if this member has heard it. `ok()` means that the
/// agreement is decided and that this member's value is merged. With the error `excluded` there is a value,
/// too, but this member's value is not part of it.
template <class T>
class agreed : public detail::status_and_value<T> {
 public:
  agreed(scoll::status s, std::optional<T> value, rank_set failed)
      : detail::status_and_value<T>(s, std::move(value)), failed_(std::move(failed)) {}

  /// The members whose value is not merged; meaningful if there is a value.
  const rank_set& failed() const noexcept { return failed_; }

 private:
  rank_set failed_;
};

namespace detail {

/// Merges one encoded value into another, which is unchanged after an error. Errors: `malformed`,
/// `too_large`.
using merge_values = status (*)(std::vector<std::byte>& into, std::span<const std::byte> from);

template <class T>
result<std::vector<std::byte>> encode_agreed(const T& value) {
  std::array<std::byte, max_agreed_bytes> room;
  const auto size = wire::encode_to(room, value);
  if (!size) return size.error();
  return std::vector<std::byte>(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(*size));
}

template <class T>
status merge_agreed(std::vector<std::byte>& into, std::span<const std::byte> from) {
  auto sum = wire::decode_from<T>(into);
  if (!sum) return sum.error();
  const auto other = wire::decode_from<T>(from);
  if (!other) return other.error();
  if constexpr (mergeable<T>) {
    sum->merge(*other);
  } else {
    merge_members(*sum, *other);
  }
  auto bytes = encode_agreed(*sum);
  if (!bytes) return bytes.error();
  into = std::move(*bytes);
  return {};
}

/// The values of a shrink are empty.
inline status merge_nothing(std::vector<std::byte>&, std::span<const std::byte>) {
  return {};
}

/// An outcome without its type.
struct agreed_bytes {
  agreed_bytes() = default;
  agreed_bytes(const error& reason) : why(reason) {}

  status why;
  bool decided = false;
  std::vector<std::byte> value{};
  rank_set failed{};
};

template <class T>
task<agreed<T>> read_agreed(task<agreed_bytes> work) {
  agreed_bytes raw = co_await std::move(work);
  std::optional<T> value;
  if (raw.decided) {
    auto read = wire::decode_from<T>(raw.value);
    if (read) {
      value.emplace(std::move(*read));
    } else if (raw.why) {
      raw.why = read.error();
    }
  }
  co_return agreed<T>(raw.why, std::move(value), std::move(raw.failed));
}

}  // namespace detail
}  // namespace scoll
