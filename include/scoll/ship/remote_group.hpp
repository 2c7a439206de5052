#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "scoll/detail/remote_bcast.hpp"
#include "scoll/node.hpp"

namespace scoll {

/// A group of which this node is no member, such as a client's view of it: the address of a member, which
/// broadcasts for this node, and the group's id. The member need not have created the group. It is cheap to
/// copy and must not outlive the node.
template <collective_service S>
class remote_group {
 public:
  /// `address` is that of any member; `id` is `group::id()` there.
  remote_group(node& from, std::string address, const group_id& id)
      : node_(&from), address_(std::move(address)), id_(id) {}

  node& from() const noexcept { return *node_; }
  const std::string& address() const noexcept { return address_; }
  const group_id& id() const noexcept { return id_; }

 private:
  node* node_;
  std::string address_;
  group_id id_;
};

/// Options of one broadcast by another node. Trivially copyable.
struct remote_bcast_options {
  /// The time from the start of the await to its end. It travels: the member keeps a margin of it.
  time_limit deadline{};
  /// When this token fires, the broadcast ends with `cancelled`, and the member and its tree are told.
  stop_token stop{};
  /// As in `bcast_options`; if it is not set, the member's setting counts.
  std::optional<dead_members> dead{};
  nanoseconds processing_bound{0};
  /// Bytes that reach every member of the group. The member at the address pulls them from this node first;
  /// they must stay valid and unchanged until the broadcast has ended.
  bulk_view bulk{};
};
static_assert(std::is_trivially_copyable_v<remote_bcast_options>);

/// The result of a broadcast by another node: a `bcast_result` that also knows whether anybody may have
/// executed.
template <class Reply>
class remote_bcast_result : public bcast_result<Reply> {
 public:
  remote_bcast_result(bcast_result<Reply> ended, bool may_have_executed)
      : bcast_result<Reply>(std::move(ended)), may_have_executed_(may_have_executed) {}

  /// False if no member has begun and none will. If the outcome has members, it says more.
  bool may_have_executed() const noexcept { return may_have_executed_; }

 private:
  bool may_have_executed_;
};

namespace detail {

template <collective_service S>
result<remote_bcast_order> order_of(const remote_group<S>& to, const request_t<S>& request,
                                    const remote_bcast_options& options) {
  remote_bcast_order order;
  order.group = to.id();
  order.service = S::id;
  order.service_version = version_of<S>;
  if (options.dead) order.dead = static_cast<std::uint8_t>(static_cast<std::uint8_t>(*options.dead) + 1);
  order.processing_bound = options.processing_bound;
  order.request.resize(wire::encoded_size(request));
  const auto size = wire::encode_to(std::span(order.request), request);
  if (!size) return size.error();
  return order;
}

template <collective_service S>
task<remote_bcast_result<reply_t<S>>> typed_answer(task<member_bcast> work) {
  member_bcast heard = co_await std::move(work);
  remote_bcast_answer& answer = heard.answer;
  std::optional<reply_t<S>> value;
  status s = answer.why ? status(answer.why) : status();
  if (answer.reply) {
    auto read = wire::decode_from<reply_t<S>>(std::span<const std::byte>(*answer.reply));
    if (read) {
      value = std::move(*read);
    } else {
      s = read.error();
    }
  }
  bcast_result<reply_t<S>> ended(s, std::move(value), std::move(answer.account));
  co_return remote_bcast_result<reply_t<S>>(std::move(ended), heard.may_have_executed);
}

}  // namespace detail

/// Has a member of the group broadcast `request`, with that member as the root, and gives the same typed
/// result with the outcome of every member: `auto r = co_await scoll::bcast(remote, request, {.deadline =
/// 2s})`. The request is encoded before this returns.
///
/// Errors: those of `bcast` at the member, and those of a shipped call to it: if the member cannot be asked,
/// or is lost before it has answered, the outcome has no members, and `may_have_executed()` says whether the
/// broadcast may have begun. `unknown_group` (the member does not hold the group), `unknown_service`,
/// `version_mismatch`, `unknown_function` (the member does not broadcast for others,
/// `node_options::serve_broadcasts`), `too_large` (bulk data beyond `ship_limits::large_bytes`). It is not
/// for services that stream their replies.
template <collective_service S>
  requires(!detail::streams<S>)
task<remote_bcast_result<detail::reply_t<S>>> bcast(const remote_group<S>& to,
                                                    const std::type_identity_t<detail::request_t<S>>& request,
                                                    const remote_bcast_options& options = {}) {
  return detail::typed_answer<S>(
      detail::broadcast_by_member(to.from(), to.address(), detail::order_of(to, request, options),
                                  options.bulk, {.deadline = options.deadline, .stop = options.stop}));
}

}  // namespace scoll
