#include "scoll/detail/remote_bcast.hpp"

#include <coroutine>
#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/detail/broadcast.hpp"
#include "scoll/detail/byte_buffer.hpp"
#include "scoll/journal.hpp"
#include "scoll/node.hpp"
#include "scoll/ship/context.hpp"
#include "scoll/ship/ship.hpp"
#include "scoll/ship/shipper.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/transfer.hpp"

// Broadcasts for nodes that are in no group. A member is the root for them: it pulls their bulk data,
// broadcasts as if it had been asked by its own program, and answers with the merged reply and the account.
namespace scoll::detail {
namespace {

/// A decoded request of any service.
class any_request {
 public:
  explicit any_request(const service_table& table) noexcept : table_(table) {}
  ~any_request() {
    if (at_ == nullptr) return;
    table_.destroy_request(at_);
    frame_pool::deallocate(at_, table_.request_size);
  }
  any_request(const any_request&) = delete;
  any_request& operator=(const any_request&) = delete;

  status decode(std::span<const std::byte> bytes) {
    void* const at = frame_pool::allocate(table_.request_size);
    status decoded = table_.decode_request(at, bytes);
    if (decoded) {
      at_ = at;
    } else {
      frame_pool::deallocate(at, table_.request_size);
    }
    return decoded;
  }
  const void* get() const noexcept { return at_; }

 private:
  const service_table& table_;
  void* at_ = nullptr;
};

/// The bulk data of a caller, which this node holds while it broadcasts them.
class pulled_bulk {
 public:
  explicit pulled_bulk(shipper& by) noexcept : shipper_(by) {}
  ~pulled_bulk() { shipper_.give_back(held_); }
  pulled_bulk(const pulled_bulk&) = delete;
  pulled_bulk& operator=(const pulled_bulk&) = delete;

  task<status> pull(transport::region_descriptor from, const call_context& call) {
    if (from.node != call.caller())
      co_return error(errc::invalid_argument,
                      "the bulk data's descriptor names a node other than the caller");
    if (const status room = shipper_.check_large(from.length); !room) co_return room.error();
    held_ = from.length;
    shipper_.hold_large(held_);
    if (!bytes_.allocate(held_))
      co_return make_error(errc::busy, "this process has no memory for bulk data of {} bytes", held_);
    transport::transfer_options options;
    options.deadline = call.remaining();
    options.stop = call.stop();
    options.checked = true;
    co_return co_await transport::pull(shipper_.wire(), from, 0, bytes_.span(), options);
  }
  std::span<const std::byte> bytes() noexcept { return bytes_.span(); }

 private:
  shipper& shipper_;
  std::size_t held_ = 0;
  byte_buffer bytes_;
};

/// The service by which an order is to be broadcast, or why it cannot be.
result<const service_table*> table_for(const engine& at, const remote_bcast_order& order,
                                       const group_state* group) {
  if (group == nullptr || group->service != order.service)
    return make_error(errc::unknown_group, "node {} does not hold the group", at.options().id);
  const auto service = at.find_service(order.service);
  if (service == nullptr)
    return make_error(errc::unknown_service, "service {:#06x} is not registered on node {}",
                      static_cast<std::uint32_t>(order.service), at.options().id);
  if (service->table->version != order.service_version)
    return make_error(errc::version_mismatch, "node {} has version {} of service {}, the caller version {}",
                      at.options().id, service->table->version, service->table->name, order.service_version);
  if (service->table->streams)
    return make_error(errc::unsupported, "the members of service {} stream their replies, to members only",
                      service->table->name);
  return service->table;
}

bcast_options options_of(const engine& at, const remote_bcast_order& order, const call_context& call) {
  bcast_options options;
  const time_point now = at.get_executor().now();
  options.deadline = call.remaining().from(now).less(at.options().level_margin);
  options.stop = call.stop();
  options.processing_bound = order.processing_bound;
  if (order.dead != 0) options.dead = static_cast<dead_members>(order.dead - 1);
  return options;
}

remote_bcast_answer answer_of(broadcast& ended, const service_table& table) {
  remote_bcast_answer answer;
  if (const status s = ended.result_status(); !s) answer.why = s.error();
  if (const void* const value = ended.value(); value != nullptr) {
    // What this member has merged of its children's replies may be larger than a reply within the tree.
    std::vector<std::byte> bytes(table.reply_capacity);
    auto size = table.encode_reply(value, bytes);
    if (!size && size.error() == errc::too_large && size.error().detail() > 0) {
      bytes.resize(static_cast<std::size_t>(size.error().detail()));
      size = table.encode_reply(value, bytes);
    }
    if (size) {
      bytes.resize(*size);
      answer.reply = std::move(bytes);
    } else if (!answer.why) {
      answer.why = size.error();
    }
  }
  answer.account = ended.take_outcome();
  return answer;
}

task<result<remote_bcast_answer>> serve_order(engine& at, shipper& by, const remote_bcast_order& order,
                                              const call_context& call) {
  const auto group = at.find_group(order.group);
  if (!at.options().allow.may_broadcast(call.caller(), call.caller_name(), order.service)) {
    const std::string what = fmt::format("service:{:#06x}", static_cast<std::uint32_t>(order.service));
    co_return at.events().not_authorised(call.caller(), call.caller_name(), what);
  }
  const auto table = table_for(at, order, group.get());
  if (!table) co_return table.error();
  if (order.dead > 2 || order.processing_bound.count() < 0)
    co_return error(errc::malformed, "an order to broadcast with options that there are not");
  any_request request(**table);
  if (const status decoded = request.decode(order.request); !decoded) co_return decoded.error();
  pulled_bulk bulk(by);
  if (order.bulk) {
    if (const status pulled = co_await bulk.pull(*order.bulk, call); !pulled) co_return pulled.error();
  }
  bcast_options options = options_of(at, order, call);
  if (order.bulk) options.bulk = bulk_view(bulk.bytes());
  broadcast under_way(any_group(at, group), **table, request.get(), options);
  under_way.ask_for(call.caller(), call.caller_name());
  co_await under_way.ended();
  co_return answer_of(under_way, **table);
}

}  // namespace

std::shared_ptr<served_function> make_remote_bcast(engine& at, shipper& by) {
  auto handler = [&at, &by](const remote_bcast_order& order, call_context& call) {
    return serve_order(at, by, order, call);
  };
  return std::make_shared<typed_function<remote_bcast_order, remote_bcast_answer, decltype(handler)>>(
      remote_bcast.key(), std::move(handler));
}

task<member_bcast> broadcast_by_member(node& from, std::string address, result<remote_bcast_order> order,
                                       bulk_view bulk, ship_options options) {
  member_bcast ended;
  if (!order) {
    ended.answer.why = order.error();
    co_return ended;
  }
  transport::memory_region exposed;
  if (bulk.given()) {
    auto region = transport::memory_region::expose(from.wire(), bulk.parts());
    if (!region) {
      ended.answer.why = region.error();
      co_return ended;
    }
    exposed = std::move(*region);
    order->bulk = exposed.descriptor();
  }
  auto answer = co_await ship(from, std::move(address), remote_bcast, *order, options);
  ended.may_have_executed = answer.may_have_executed();
  if (answer) {
    ended.answer = std::move(*answer);
    ended.may_have_executed = ended.answer.account.count(member_state::not_reached) +
                                  ended.answer.account.count(member_state::excluded) !=
                              ended.answer.account.members();
  } else {
    ended.answer.why = answer.error();
  }
  co_return ended;
}

}  // namespace scoll::detail
