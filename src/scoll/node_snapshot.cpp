#include "scoll/node_snapshot.hpp"

#include <utility>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/own_records.hpp"
#include "scoll/journal.hpp"
#include "scoll/node.hpp"
#include "scoll/ship/shipper.hpp"
#include "transport/session/session.hpp"

// A node describes itself.
namespace scoll {
namespace {

using transport::traffic_class;

peer_snapshot describe_peer(transport::session& peer) {
  peer_snapshot s;
  s.id = peer.peer();
  s.address = peer.address();
  s.incarnation = peer.peer_incarnation();
  s.connected = peer.connected(traffic_class::collective);
  s.dead = peer.dead();
  s.waiting = peer.waiting();
  s.held_messages = peer.held_messages();
  s.bulk_connected = peer.connected(traffic_class::bulk);
  s.bulk_lost = peer.bulk_lost();
  s.epoch = peer.epoch();
  s.peer_epoch = peer.peer_epoch();
  s.owing = peer.owing();
  for (std::size_t c = 0; c < transport::class_count; ++c) {
    s.credit[c] = peer.credit(static_cast<traffic_class>(c));
    s.queued[c] = peer.queued(static_cast<traffic_class>(c));
  }
  s.rtt = peer.rtt().smoothed();
  s.last_failure = peer.last_failure(traffic_class::collective);
  s.last_bulk_failure = peer.last_failure(traffic_class::bulk);
  return s;
}

group_snapshot describe_group(const detail::group_state& held) {
  return {std::string(held.name.text()), held.id, held.service, held.members->size(), held.holders != nullptr,
          held.revoked != nullptr};
}

}  // namespace

node_snapshot node::snapshot() const {
  node_snapshot s;
  s.id = id();
  s.incarnation = incarnation();
  s.groups = engine_->groups();
  s.groups_ending = engine_->groups_ending();
  s.admissions_waiting = engine_->admissions_waiting();
  s.operations = engine_->operations();
  s.calls_served = shipper_->server_calls();
  s.calls_awaited = shipper_->outgoing();
  s.large_bytes_held = shipper_->large_held();
  s.collectives = engine_->statistics();
  s.calls = shipper_->statistics();
  engine_->wire().sessions([&](transport::session& peer) { s.peers.push_back(describe_peer(peer)); });
  engine_->each_group([&](const detail::group_state& held) {
    if (!held.name.empty()) s.named_groups.push_back(describe_group(held));
  });
  return s;
}

std::vector<peer_snapshot> node::peers(node_id first, std::size_t most) const {
  std::vector<peer_snapshot> found;
  engine_->wire().sessions_from(first, [&](transport::session& peer) {
    if (found.size() == most) return false;
    found.push_back(describe_peer(peer));
    return true;
  });
  return found;
}

std::vector<group_snapshot> node::groups(const group_id& first, std::size_t most) const {
  std::vector<group_snapshot> found;
  const auto add = [&](const detail::group_state& held) {
    if (found.size() == most) return false;
    found.push_back(describe_group(held));
    return true;
  };
  engine_->each_group(add, first);
  return found;
}

std::vector<operation_snapshot> node::operations(std::size_t first, std::size_t most) const {
  return engine_->describe_operations(first, most);
}

std::vector<function_snapshot> node::functions() const {
  return shipper_->describe_functions();
}

std::vector<call_snapshot> node::calls(std::size_t most) const {
  return shipper_->describe_calls(most);
}

transport::security_snapshot node::security() {
  return engine_->wire().security();
}

std::vector<resource_snapshot> node::resources() const {
  const transport::endpoint_usage wire = engine_->wire().usage();
  const node_options& bounds = engine_->options();
  const auto share = [](std::string_view name, std::string_view about,
                        const transport::endpoint_usage::share& s) {
    return resource_snapshot{name, about, s.used, s.most};
  };
  return {
      {"operations", "broadcasts and group operations that run here", engine_->operations(),
       bounds.max_operations},
      {"pending_admissions", "requests that wait until their group is known", engine_->admissions_waiting(),
       bounds.max_pending_admissions},
      {"reply_memory_bytes", "bytes set aside for parts of replies", engine_->memory_for_parts().used(),
       engine_->memory_for_parts().limit()},
      {"repair_memory_bytes", "bytes of replies that are kept for further rounds", engine_->records().used(),
       engine_->records().limit()},
      {"groups", "groups that this node holds", engine_->groups(), 0},
      {"ending_groups", "destroyed groups of which some members have not been told", engine_->groups_ending(),
       detail::max_ending_groups},
      {"handlers", "calls admitted here and not finished", shipper_->server_calls(), bounds.ship.handlers},
      {"awaited_calls", "calls that this node waits for", shipper_->outgoing(), 0},
      {"large_memory_bytes", "bytes of large arguments and results that handlers hold",
       shipper_->large_held(), bounds.ship.large_memory},
      share("messages", "messages that are queued or not acknowledged", wire.messages),
      share("payload_buffers", "buffers for payloads of up to 32 KiB", wire.payloads),
      share("small_payload_buffers", "buffers for payloads of up to 512 bytes", wire.small_payloads),
      share("handshakes",
            "accepted connections that have not introduced themselves, and places of those that left without "
            "a proof",
            wire.handshakes),
      share("clients", "clients that have a place here", wire.clients),
      share("queued_notices", "notices that no link has taken", wire.notices),
      share("regions", "memory regions that are exposed", wire.regions),
      share("transfer_buffers", "buffers of 8 KiB for small segments of bulk data", wire.transfer_buffers),
      share("parked_orders", "orders of peers for pieces that are not there yet", wire.parked_orders),
  };
}

std::vector<node_event> node::events(std::uint64_t after) const {
  return engine_->events().events(after);
}

std::uint64_t node::event_count(node_event_kind kind) const noexcept {
  return engine_->events().count(kind);
}

task<status> node::event_after(std::uint64_t after, stop_token stop) {
  detail::journal& kept = engine_->events();
  while (kept.last() <= after) {
    if (const status heard = co_await kept.news().wait(stop); !heard) co_return heard;
  }
  co_return status{};
}

}  // namespace scoll
