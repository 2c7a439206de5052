#include <algorithm>

#include "scoll/collective/bulks.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/operation/own_records.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/session/limits.hpp"

// What must hold for every node.
namespace scoll::sim {
namespace {

constexpr std::size_t max_children = most_hosts - 1;  // in a flat tree

/// The request that tells a member that is down of groups that have ended: a node that no news of the death
/// has reached goes on trying.
std::size_t tells_in_vain(cluster& c, detail::engine& engine, const transport::session& s) {
  const bool down = c.alive(client_hosts::host_of(s.peer())) == nullptr;
  return down && engine.groups_ending() != 0 ? std::min<std::size_t>(s.waiting(), 1) : 0;
}

/// No operation, message, buffer, exchange or half-made connection is left.
void holds_nothing(std::uint32_t host, cluster& c, detail::engine& engine, violations& found) {
  transport::endpoint& wire = engine.wire();
  std::size_t in_vain = 0;
  wire.sessions([&](transport::session& s) {
    const std::size_t told = tells_in_vain(c, engine, s);
    in_vain += told;
    if (s.waiting() != told || s.owing() != 0)
      report(found, "holds nothing", host,
             fmt::format("{} requests to node {} and {} of it", s.waiting(), s.peer(), s.owing()));
  });
  if (engine.operations() != 0)
    report(found, "holds nothing", host, fmt::format("{} operations", engine.operations()));
  if (engine.memory_for_parts().used() != 0)
    report(found, "holds nothing", host,
           fmt::format("{} bytes for parts of replies", engine.memory_for_parts().used()));
  if (wire.messages_in_use() > in_vain)
    report(found, "holds nothing", host, fmt::format("{} messages", wire.messages_in_use()));
  if (wire.payloads_in_use() != 0)
    report(found, "holds nothing", host, fmt::format("{} payload buffers", wire.payloads_in_use()));
  if (wire.handshakes() != 0)
    report(found, "holds nothing", host, fmt::format("{} handshakes", wire.handshakes()));
}

/// Returns the other end of a session that exists on both ends, or null if it does not.
transport::session* other_end(cluster& c, std::uint32_t host, const transport::session& s) {
  life* const peer = c.alive(client_hosts::host_of(s.peer()));
  if (peer == nullptr || s.peer_incarnation() != peer->incarnation || s.peer_epoch() == 0) return nullptr;
  transport::session* const other = peer->member->wire().find(c.guests().id_of(host));
  if (other == nullptr) return nullptr;  // it has forgotten a client
  const bool same = other->peer_incarnation() == c.alive(host)->incarnation &&
                    other->peer_epoch() == s.epoch() && other->epoch() == s.peer_epoch();
  return same ? other : nullptr;
}

/// Credit is neither created nor lost. In every class the peer has received everything that was sent and has
/// finished with it. The remaining credit is between half a window, where new credit is granted, and a whole
/// window; where no connection stands, the next greeting grants it. If a connection breaks while another one stands by,
/// what it granted last is said again by the next frame.
void credit_is_conserved(std::uint32_t host, cluster& c, violations& found) {
  detail::engine& engine = detail::node_access::engine(*c.alive(host)->member);
  engine.wire().sessions([&](transport::session& s) {
    transport::session* const other = other_end(c, host, s);
    if (other == nullptr) return;
    for (std::size_t k = 0; k < transport::class_count; ++k) {
      const auto klass = static_cast<transport::traffic_class>(k);
      const std::uint32_t window = engine.wire().options().window[k];
      const transport::credit_window& here = s.credits(klass);
      const transport::credit_window& there = other->credits(klass);
      const std::uint32_t credit = here.granted_to_us() - here.sent();
      const bool told = here.granted_to_us() == there.granted_by_us() ||
                        (c.ways().rails > 1 && here.granted_to_us() < there.granted_by_us());
      const bool conserved = here.sent() == there.received() && there.received() == there.disposed() &&
                             told && (credit >= window / 2 || !other->connected(klass)) && credit <= window;
      if (!conserved)
        report(found, "credit is conserved", host,
               fmt::format("class {} to node {}: sent {}, received {}, done with {}, granted {} and {}", k,
                           s.peer(), here.sent(), there.received(), there.disposed(), there.granted_by_us(),
                           here.granted_to_us()));
    }
  });
}

/// While a node counts as dead it gets no requests, and earlier requests to it have ended.
void nobody_waits_for_the_dead(std::uint32_t host, detail::engine& engine, violations& found) {
  engine.wire().sessions([&](transport::session& s) {
    if (engine.lives().is_dead(s.peer()) && s.waiting() != 0)
      report(found, "nobody waits for the dead", host,
             fmt::format("{} requests to node {}", s.waiting(), s.peer()));
  });
}

/// When no message is under way between two nodes, the peer is working on every request that a node waits
/// for. Since every wait is bounded, it follows that no nodes wait for each other in a circle.
void nobody_waits_for_nothing(std::uint32_t host, cluster& c, violations& found) {
  c.alive(host)->member->wire().sessions([&](transport::session& s) {
    transport::session* const other = s.waiting() == 0 ? nullptr : other_end(c, host, s);
    if (other == nullptr || s.held_messages() != 0 || other->held_messages() != 0) return;
    if (s.waiting() > other->owing())
      report(found, "nobody waits for nothing", host,
             fmt::format("{} requests to node {}, which works at {}", s.waiting(), s.peer(), other->owing()));
  });
}

/// A node hears the lives of a peer in ascending order only.
void lives_go_forward(std::uint32_t host, cluster& c, violations& found) {
  life& l = *c.alive(host);
  l.heard.resize(c.hosts());
  l.member->wire().sessions([&](transport::session& s) {
    std::uint64_t& latest = l.heard[client_hosts::host_of(s.peer())];
    if (s.peer_incarnation() < latest)
      report(found, "lives go forward", host,
             fmt::format("life {} of node {} after {}", s.peer_incarnation(), s.peer(), latest));
    latest = std::max(latest, s.peer_incarnation());
  });
}

/// As long as one rail of each pair lives, no node loses another one.
void a_rails_death_is_not_a_nodes(std::uint32_t host, cluster& c, violations& found) {
  const transport::endpoint_statistics& counts = c.alive(host)->member->wire().statistics();
  if (!c.only_rails_failed() || c.faults().empty()) return;
  if (counts.sessions_lost + counts.bulk_lost != 0)
    report(found, "a rail's death is not a node's", host,
           fmt::format("{} sessions lost, and {} times bulk alone", counts.sessions_lost, counts.bulk_lost));
}

/// No client that is gone has a place once everything has ended.
void no_place_for_nobody(std::uint32_t host, cluster& c, const transport::endpoint& wire, violations& found) {
  std::size_t there = 0;
  for (std::uint32_t other = 0; other < c.hosts(); ++other)
    there += c.guests().contain(other) && c.alive(other) != nullptr;
  if (wire.usage().clients.used > there)
    report(found, "no place for nobody", host,
           fmt::format("{} places for {} clients", wire.usage().clients.used, there));
}

/// Without altered bytes no node has a reason to break off a connection.
void the_honest_keep_the_protocol(const life& l, const cluster& c, violations& found) {
  const bool altered =
      std::any_of(c.faults().begin(), c.faults().end(), [](const fault_record& f) { return f.alters; });
  transport::endpoint& wire = l.member->wire();
  if (!altered && wire.statistics().links_broken != 0)
    report(found, "the honest keep the protocol", l.host, describe(wire.last_violation()));
  if (wire.statistics().answers_missing != 0)
    report(
        found, "nobody waits for nothing", l.host,
        fmt::format("{} times a peer worked at less than waited for it", wire.statistics().answers_missing));
}

/// What members keep for further rounds of broadcasts is bounded, and goes when its root has said that the broadcast
/// is over, or must be.
void records_are_retired(std::uint32_t host, cluster& c, detail::engine& engine, violations& found) {
  const detail::own_records& kept = engine.records();
  if (kept.size() > detail::own_records::most_records || kept.used() > kept.limit())
    report(found, "records are bounded and retired", host,
           fmt::format("{} records of {} bytes", kept.size(), kept.used()));
  const time_point now = engine.get_executor().now();
  kept.each([&](const detail::broadcast_name& name, const detail::own_record& record, time_point until) {
    c.seen().saw(mark::round_repeated, record.attempt != 0 && !record.running());
    bool over = until + one_turn < now && c.stalled_until() < c.world().now();  // who stalls is late
    const auto group = engine.find_group(name.group);
    const auto windows = group != nullptr ? group->windows : std::vector<detail::group_state::root_window>();
    for (const detail::group_state::root_window& w : windows) {
      const bool by_root =
          group->members->node(w.root_rank) == name.root && w.incarnation == name.incarnation;
      over |= by_root && name.counter < w.ended_below;
    }
    if (over)
      report(found, "records are bounded and retired", host,
             fmt::format("broadcast {} of node {} is over", name.counter, name.root));
  });
}

/// Orders that wait for their pieces, and requests to read bulk data that wait for their broadcast.
void waiting_within_bounds(std::uint32_t host, detail::engine& engine, violations& found) {
  transport::piece_server& pieces = engine.wire().memory().pieces();
  const std::size_t most_of_one = pieces.most_parked_of_one();
  if (pieces.parked() > engine.wire().options().parked_limit ||
      most_of_one > transport::limits::parked_per_peer)
    report(found, "within bounds", host,
           fmt::format("{} orders wait for pieces, {} of one peer for pieces of one region", pieces.parked(),
                       most_of_one));
  const detail::engine::bulks& bulks = engine.bulk_data();
  if (bulks.early_readers() > engine.options().max_operations)
    report(found, "within bounds", host,
           fmt::format("{} requests to read bulk data wait for their broadcast", bulks.early_readers()));
  engine.wire().sessions([&](transport::session& s) {
    if (bulks.early_readers_of(s.peer()) > detail::max_early_readers_of_member)
      report(found, "within bounds", host,
             fmt::format("{} requests of node {} to read bulk data wait for their broadcast",
                         bulks.early_readers_of(s.peer()), s.peer()));
  });
}

/// Orders for bulk data are answered when they arrive, unless hardware reads. So only those hold a credit that wait for a
/// buffer, and those that wait for their piece do not.
void who_waits_for_a_piece_holds_no_credit(std::uint32_t host, cluster& c, detail::engine& engine,
                                           violations& found) {
  if (c.network_of_bulk().has_remote_memory()) return;
  std::size_t held = 0;
  engine.wire().sessions([&](transport::session& s) {
    const transport::credit_window& credits = s.credits(transport::traffic_class::bulk);
    held += credits.received() - credits.disposed();
  });
  if (held > engine.wire().memory().waiting())
    report(found, "who waits for a piece holds no credit", host,
           fmt::format("{} credits are held, and {} orders wait for a buffer", held,
                       engine.wire().memory().waiting()));
}

void within_bounds(std::uint32_t host, detail::engine& engine, violations& found) {
  if (engine.operations() > engine.options().max_operations + detail::extra_group_operations)
    report(found, "within bounds", host, fmt::format("{} operations", engine.operations()));
  // Payload buffers: for each operation the request as it came, as rewritten and with a creation in front; for
  // each request that waits for its group, and for each message, one payload; for each child the answer that
  // waits for `on_reply`; and the parts of replies for which memory is set aside.
  const std::size_t answers = engine.operations() * max_children;
  const std::size_t payloads = 3 * engine.operations() + engine.admissions_waiting() +
                               engine.wire().messages_in_use() + answers +
                               engine.memory_for_parts().used() / transport::max_payload_bytes;
  if (engine.wire().payloads_in_use() > payloads)
    report(found, "within bounds", host, fmt::format("{} payload buffers", engine.wire().payloads_in_use()));
  const auto& options = engine.wire().options();
  if (engine.wire().usage().clients.used > options.clients)
    report(found, "within bounds", host, fmt::format("{} clients", engine.wire().usage().clients.used));
  // Requests: those that wait for credit and those that are not acknowledged. Replies and cancels: one each
  // per request of either side.
  const std::size_t most = 2 * transport::class_count * (options.queue_limit + 2 * options.window[1]);
  engine.wire().sessions([&](transport::session& s) {
    for (const auto klass : {transport::traffic_class::urgent, transport::traffic_class::collective}) {
      if (s.queued(klass) > options.queue_limit)
        report(found, "within bounds", host,
               fmt::format("{} requests wait for credit to node {}", s.queued(klass), s.peer()));
    }
    if (s.held_messages() > most)
      report(found, "within bounds", host,
             fmt::format("{} messages held for node {}", s.held_messages(), s.peer()));
  });
}

}  // namespace

void check_settled(cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    holds_nothing(host, c, detail::node_access::engine(*l->member), found);
    credit_is_conserved(host, c, found);
    a_rails_death_is_not_a_nodes(host, c, found);
    no_place_for_nobody(host, c, l->member->wire(), found);
    lives_go_forward(host, c, found);
  }
  for (const life& l : c.all_lives()) {
    if (l.member != nullptr) the_honest_keep_the_protocol(l, c, found);
  }
}

void check_bounds(cluster& c, violations& found) {
  if (c.world().livelocked() != c.world().hosts())
    report(found, "no livelock", c.world().livelocked(), "ran without end at one point in time");
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    within_bounds(host, detail::node_access::engine(*l->member), found);
    waiting_within_bounds(host, detail::node_access::engine(*l->member), found);
    who_waits_for_a_piece_holds_no_credit(host, c, detail::node_access::engine(*l->member), found);
    records_are_retired(host, c, detail::node_access::engine(*l->member), found);
    nobody_waits_for_nothing(host, c, found);
    nobody_waits_for_the_dead(host, detail::node_access::engine(*l->member), found);
    lives_go_forward(host, c, found);
  }
}

void check_incarnations(const cluster& c, violations& found) {
  std::vector<std::uint64_t> latest(c.hosts());
  for (const life& l : c.all_lives()) {
    if (l.incarnation == 0) continue;  // it never started
    if (l.incarnation <= latest[l.host])
      report(found, "incarnations grow", l.host, fmt::format("{} after {}", l.incarnation, latest[l.host]));
    latest[l.host] = l.incarnation;
  }
}

void check_shutdown(const cluster& c, violations& found) {
  if (c.undead() != 0)
    found.push_back({"every life ends", fmt::format("{} crashed lives did not, left alone", c.undead())});
  for (const life& l : c.all_lives()) {
    if (l.crashed) continue;
    if (!l.ended || !*l.ended)
      report(found, "every life ends", l.host,
             l.ended ? describe(l.ended->error()) : "shutdown has not returned");
  }
}

}  // namespace scoll::sim
