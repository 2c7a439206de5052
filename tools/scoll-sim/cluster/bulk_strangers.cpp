#include "tools/scoll-sim/cluster/bulk_strangers.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/sources.hpp"
#include "scoll/collective/collective_head.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// Hosts that want bulk data they have no right to.
namespace scoll::sim {
namespace {

/// The rights of the members of a broadcast to each other's bulk data.
class bulk_rights {
 public:
  bulk_rights(const broadcast_record& b, const events::freight& f, const any_tree& tree)
      : b_(b),
        tree_(tree),
        n_(static_cast<std::uint32_t>(b.addressed.size())),
        routes_(bulk_plan::unchecked(f.plan, f.radix), n_,
                bulk_pieces::divide(f.bytes, f.piece_bytes).value().count(), tree_) {}

  /// True if the host may read the memory of the member at that place among those addressed.
  bool may_read(std::uint32_t host, std::uint32_t place) const {
    const auto is_host = [&](std::uint32_t rank) { return b_.group->members[rank] == host; };
    const auto found = std::ranges::find_if(b_.addressed, is_host);
    if (found == b_.addressed.end()) return false;
    const std::uint32_t reader = relative(static_cast<std::uint32_t>(found - b_.addressed.begin()));
    const std::uint32_t source = relative(place);
    if (reader == source || routes_.is_consumer(source, reader)) return true;
    for (std::uint32_t r = reader; r != 0;) {
      r = tree_.parent(n_, r);
      if (r == source) return true;
    }
    return false;
  }

 private:
  std::uint32_t relative(std::uint32_t place) const { return to_relative(place, b_.root_place, n_); }

  const broadcast_record& b_;
  const any_tree& tree_;
  std::uint32_t n_;
  detail::bulk_routes routes_;
};

}  // namespace

/// The host asks the first member that gives it nothing for its memory.
void cluster::open_falsely(const broadcast_record& b, const events::freight& f, std::uint32_t host) {
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = tree_of(b);
  if (!tree || f.bytes == 0) return;
  const bulk_rights rights(b, f, *tree);
  std::optional<std::uint32_t> victim;
  for (std::uint32_t i = 0; i < n && !victim; ++i) {
    const std::uint32_t place = (host + i) % n;
    if (!rights.may_read(host, place)) victim = b.group->members[b.addressed[place]];
  }
  if (!victim || *victim == host) return;
  detail::collective_head head;
  head.kind = static_cast<std::uint8_t>(detail::collective_kind::bulk);
  head.group = *b.group->id;
  head.operation = {b.root->host + 1, b.root->incarnation, b.counter, 0};
  head.root_rank = b.root_rank;
  head.remaining_ns = 100'000'000;
  life& sender = *lives_[host];
  sender.home.enter([&] {
    transport::endpoint& endpoint = sender.member->wire();
    transport::session* const session = endpoint.find(*victim + 1);
    if (session == nullptr) return;
    transport::message& m = endpoint.acquire_message();
    m.set_head_bytes(wire::encode_to(m.head_space(), head).value());
    m.copy_payload({}, wire::checksum({}));
    session
        ->request(sender.false_opens.emplace_back(freights_.strangers()),
                  transport::traffic_class::collective, m, 0)
        .ignore();
  });
}

/// The host orders a piece by the descriptor of a place that has come back to its owner.
void cluster::order_falsely(const freights::freight& f, std::uint32_t host) {
  const auto back = std::ranges::find_if(
      f.exposed, [&](const auto& e) { return e.withdrawn && e.from.node != host + 1 && e.from.length != 0; });
  if (back == f.exposed.end()) return;
  life& sender = *lives_[host];
  sender.home.enter([&] {
    transport::endpoint& endpoint = sender.member->wire();
    transport::session* const session = endpoint.find(back->from.node);
    if (session == nullptr) return;
    const auto bytes = std::min<std::uint64_t>(f.about.piece_bytes, back->from.length);
    false_order& order =
        sender.false_orders.emplace_back(endpoint, freights_.strangers(), static_cast<std::size_t>(bytes));
    const std::array into{std::span(order.memory)};
    order.begin(*session, back->from, 0, f.about.piece_bytes, into);
  });
}

}  // namespace scoll::sim
