#include <algorithm>
#include <array>

#include "scoll/collective/collective_head.hpp"
#include "scoll/node_access.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// Requests that must be refused.
namespace scoll::sim {

void cluster::on(const events::stray& e) {
  const auto found = broadcasts_.find(e.broadcast);
  if (found == broadcasts_.end() || found->second.counter == 0 || found->second.held) return;
  broadcast_record& b = found->second;
  switch (e.kind) {
    case stray_kind::repeated: return repeat(b, e.host);
    case stray_kind::stranger: return intrude(b, e.host);
    case stray_kind::bygone: return send_bygone(b, e.host);
    case stray_kind::reader:
    case stray_kind::orderer: break;
  }
  const freights::freight* const load = freights_.find(e.broadcast);
  if (load == nullptr || living(e.host) == nullptr) return;
  if (e.kind == stray_kind::orderer) return order_falsely(*load, e.host);
  open_falsely(b, load->about, e.host);
}

/// The ranks of the root's children that have executed the broadcast in their present life. Empty if the root
/// is gone.
std::vector<std::uint32_t> cluster::executed_children(const broadcast_record& b) {
  std::vector<std::uint32_t> executed;
  const auto n = static_cast<std::uint32_t>(b.members.size());
  const auto tree = tree_over_all(b);
  if (lives_[b.root->host] != b.root || !tree || b.addressed.size() != b.members.size()) return executed;
  auto cursor = tree->cursor(n, 0);
  for (auto child = cursor.next(); child; child = cursor.next()) {
    const std::uint32_t rank = to_rank(*child, b.root_rank, n);
    const life* const executor = b.members[rank].executor;
    if (executor != nullptr && executor == lives_[b.group->members[rank]]) executed.push_back(rank);
  }
  return executed;
}

/// Acts like a root that sends a request again on another rail although it has already arrived.
void cluster::repeat(broadcast_record& b, std::uint64_t choice) {
  const std::vector<std::uint32_t> executed = executed_children(b);
  if (executed.empty()) return;
  job request = b.request;
  request.filler.clear();
  send_as(*lives_[b.root->host], b, executed[choice % executed.size()], std::move(request),
          b.root->incarnation, stray_kind::repeated);
}

/// Records a request that no member may execute.
broadcast_record& cluster::record_stray(const broadcast_record& like) {
  broadcast_record& s = broadcasts_[next_stray_];
  s.number = next_stray_++;
  s.stray = true;
  s.group = like.group;
  s.root = like.root;
  s.root_rank = like.root_rank;
  s.counter = like.counter + 500;  // a counter that the root has not used
  s.options = like.options;
  s.members.resize(like.members.size());
  s.request.broadcast = s.number;
  return s;
}

/// A request of an earlier life of the root reaches a child that has executed one of the present life.
void cluster::send_bygone(broadcast_record& b, std::uint64_t choice) {
  const std::vector<std::uint32_t> executed = executed_children(b);
  if (executed.empty() || b.root->incarnation < 2) return;
  broadcast_record& s = record_stray(b);
  send_as(*lives_[b.root->host], s, executed[choice % executed.size()], s.request, b.root->incarnation - 1,
          stray_kind::bygone);
}

void cluster::intrude(broadcast_record& b, std::uint32_t host) {
  const auto n = static_cast<std::uint32_t>(b.members.size());
  const auto tree = tree_over_all(b);
  if (living(host) == nullptr || !tree || n < 3) return;
  const auto parent_of = [&](std::uint32_t rank) {
    return b.group->members[to_rank(tree->parent(n, to_relative(rank, b.root_rank, n)), b.root_rank, n)];
  };
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    const std::uint32_t victim = b.group->members[rank];
    if (rank == b.root_rank || victim == host || parent_of(rank) == host) continue;
    broadcast_record& s = record_stray(b);
    return send_as(*lives_[host], s, rank, s.request, s.root->incarnation, stray_kind::stranger);
  }
}

void cluster::send_as(life& sender, const broadcast_record& b, std::uint32_t to, job request,
                      std::uint64_t root_incarnation, stray_kind kind) {
  detail::collective_head head;
  head.tree_kind = b.group->tree.kind;
  head.tree_params = b.group->tree.params;
  with_service(b.group->service, serves_old_version(b.group->members[to]), [&]<class S>() {
    head.service = static_cast<std::uint32_t>(S::id);
    head.service_version = detail::version_of<S>;
    head.flags = detail::streams<S> ? detail::collective_head::streams : 0;
  });
  head.root_rank = b.root_rank;
  head.group = *b.group->id;
  head.operation = {b.root->host + 1, root_incarnation, b.counter, 0};
  head.rtt_us = static_cast<std::uint32_t>(rtt_estimate / std::chrono::microseconds(1));
  head.margin_us = static_cast<std::uint32_t>(level_margin / std::chrono::microseconds(1));
  head.processing_ns = 100'000'000;
  sender.home.enter([&] {
    transport::endpoint& endpoint = sender.member->wire();
    transport::session* const session = endpoint.find(b.group->members[to] + 1);
    if (session == nullptr) return;
    transport::message& m = endpoint.acquire_message();
    m.set_head_bytes(wire::encode_to(m.head_space(), head).value());
    std::array<std::byte, transport::message::inline_payload_bytes> payload;
    const auto size = wire::encode_to(payload, request);
    const auto bytes = std::span<const std::byte>(payload).first(size ? *size : 0);
    m.copy_payload(bytes, wire::checksum(bytes));
    stray_request& waiter = sender.strays.emplace_back(&refusals_[static_cast<std::size_t>(kind)]);
    session->request(waiter, transport::traffic_class::collective, m, transport::max_payload_bytes).ignore();
  });
}

}  // namespace scoll::sim
