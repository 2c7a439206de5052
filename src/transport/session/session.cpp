#include "transport/session/session.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/client_table.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/rail_places.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

session::session(endpoint& owner, node_id peer, std::string address)
    : endpoint_(owner), peer_(peer), address_(std::move(address)) {}

session::~session() {
  shut();
  if (kicked_) endpoint_.executor_.unschedule_late(flush_);
  if (telling_.scheduled()) endpoint_.executor_.unschedule(telling_);
  while (!orphans_.empty()) orphans_.pop_front().session_ = nullptr;
}

bool session::connected(traffic_class klass) const noexcept {
  const auto& l = lanes_[index(lane_of(klass))];
  return l != nullptr && l->up();
}

error session::last_failure(traffic_class klass) const noexcept {
  const auto& l = lanes_[index(lane_of(klass))];
  return l == nullptr ? error() : l->last_failure();
}

remote_access* session::remote() const noexcept {
  const auto& l = lanes_[index(lane_id::bulk)];
  return l == nullptr ? nullptr : l->remote();
}

bool session::bulk_lost() const noexcept {
  const auto& l = lanes_[index(lane_id::bulk)];
  return l != nullptr && l->lost();
}

lane& session::lane_at(lane_id id) {
  auto& l = lanes_[index(id)];
  if (l != nullptr) return *l;
  l = std::make_unique<lane>(*this, id);
  if (id == lane_id::control) rtt_ = std::make_unique<round_trip>();
  return *l;
}

// ---- messages

void session::enqueue(message& m, traffic_class klass, frame_type type) noexcept {
  m.header().type = type;
  m.header().klass = klass;
  const lane_id by = lane_of(klass);
  if (lanes_[index(by)] == nullptr) lane_at(by);
  ++held_[index(by)];
  class_state& k = classes_[index(klass)];
  if (type == frame_type::request) {
    k.requests.push_back(m);
    ++k.queued;
  } else if (type == frame_type::notice) {
    notices_.push_back(m);
  } else {
    k.expected.push_back(m);
    if (type == frame_type::reply) k.credits.keep_reply();
  }
  kick();
}

void session::release(message& m, notice_state how) noexcept {
  --held_[index(lane_of(m.header().klass))];
  endpoint_.note_progress();
  if (m.requester_ != nullptr) m.requester_->queued_ = nullptr;
  const frame_type type = m.header().type;
  const traffic_class klass = m.header().klass;
  if (type == frame_type::notice) notice_over(m, how);
  endpoint_.release_message(m);
  if (type != frame_type::reply) return;
  classes_[index(klass)].credits.release_reply();
  if (peer_epoch_ != 0) grant_if_low(klass);
}

namespace {

/// Always false, except in the deliberate bug.
bool waits_behind(const auto& classes) noexcept {
  return std::ranges::any_of(classes, [](const auto& k) { return !k.requests.empty(); }) &&
         SCOLL_MUTANT(revoke_behind_data, "notices wait until all requests to their peer have left");
}

/// What `all` has for the classes of a lane, which stand beside each other.
auto classes_of(lane_id lane, auto& all) noexcept {
  constexpr std::size_t others = index(traffic_class::bulk);
  static_assert(others == class_count - 1, "the class of the bulk lane is the last");
  return lane == lane_id::bulk ? std::span(all).subspan(others) : std::span(all).first(others);
}

void tell_granted(frame_header& header, const auto& classes) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) header.granted[c] = classes[c].credits.granted_by_us();
}

}  // namespace

message* session::peek(lane_id lane, bool requests_too) noexcept {
  const bool notice_ready = lane == lane_id::control && requests_too && !notices_.empty() &&
                            classes_[index(traffic_class::urgent)].credits.available() != 0;
  if (notice_ready && !waits_behind(classes_)) return &notices_.front();
  for (class_state& k : classes_of(lane, classes_)) {
    const bool request_ready = requests_too && !k.requests.empty() && k.credits.available() > k.for_notices;
    // Replies of bulk are the load itself: a peer that pulls without end must not keep this node's own
    // requests waiting.
    const bool own_turn = lane == lane_id::bulk && k.replied_last && request_ready;
    if (!k.expected.empty() && !own_turn) return &k.expected.front();
    if (request_ready) return &k.requests.front();
  }
  return nullptr;
}

void session::take(message& m) noexcept {
  m.unlink();
  class_state& k = classes_[index(m.header().klass)];
  k.replied_last = m.header().type != frame_type::request;
  if (m.header().type == frame_type::request) {
    --k.queued;
    k.credits.on_sent();
    ++endpoint_.statistics_.requests_sent;
  } else if (m.header().type == frame_type::reply) {
    ++endpoint_.statistics_.replies_sent;
  } else if (m.header().type == frame_type::notice) {
    notice_taken(m);
  }
  if (m.requester_ != nullptr) m.requester_->transmitted_ = true;
}

bool session::work_waiting(lane_id lane) const noexcept {
  if (lane == lane_id::control && !notices_.empty()) return true;
  return std::ranges::any_of(classes_of(lane, classes_),
                             [](const class_state& k) { return !k.expected.empty() || !k.requests.empty(); });
}

void session::apply_grants(const frame_header& header) noexcept {
  bool grew = false;
  for (std::size_t c = 0; c < class_count; ++c) {
    if (classes_[c].credits.announce(header.granted[c]))
      grew |= !classes_[c].requests.empty() || !notices_.empty();
  }
  if (grew) kick();
}

/// Only a lane's own classes get new credit: if the frame is lost, the lane's next greeting repeats it.
void session::stamp(frame_header& header, lane_id lane) noexcept {
  const auto own = classes_of(lane, classes_);
  const auto windows = classes_of(lane, endpoint_.options_.window);
  for (std::size_t c = 0; c < own.size(); ++c) own[c].credits.grant(windows[c]);
  tell_granted(header, classes_);
}

void session::stamp_anew(frame_header& header) const noexcept {
  if (!SCOLL_MUTANT(rails_grant_lost)) tell_granted(header, classes_);
}

void session::kick() noexcept {
  if (kicked_) return;
  kicked_ = true;
  endpoint_.executor_.schedule_late(flush_);
}

void session::flush() noexcept {
  kicked_ = false;
  for (auto& l : lanes_) {
    if (l != nullptr) l->pump();
  }
  if (!linked()) endpoint_.watch(*this);
}

// ---- session life

identity session::make_identity(lane_id lane, path_key by) const {
  identity said;
  said.lane = static_cast<std::uint8_t>(lane);
  said.node = endpoint_.options_.self;
  said.target = peer_;
  said.incarnation = endpoint_.options_.incarnation;
  said.epoch = epoch_;
  said.known_incarnation = peer_incarnation_;
  said.known_epoch = peer_epoch_;
  said.received = lanes_[index(lane)]->received();
  said.beyond = lanes_[index(lane)]->beyond();
  if (SCOLL_MUTANT(duplicates_delivered,
                   "a message that has arrived is sent again on a new connection, and delivered")) {
    said.received = 0;
    said.beyond = {};
  }
  said.attempt = lanes_[index(lane)]->attempts();
  said.from_rail = by.own;
  said.to_rail = by.theirs;
  said.window = endpoint_.options_.window;
  for (std::size_t i = 0; i < endpoint_.rails(); ++i) {
    std::string own = endpoint_.address_of_rail(i);
    if (own.empty() || own.size() > max_rail_address_bytes) continue;
    said.rails.push_back({.index = static_cast<std::uint8_t>(i),
                          .prefix = endpoint_.prefix_of_rail(i),
                          .address = std::move(own)});
  }
  said.cluster = endpoint_.options_.cluster;
  if (endpoint_.options_.client) said.flags = identity_flags::client;
  return said;
}

result<bool> session::on_identity(const identity& said, lane& l, path_key by) noexcept {
  if (said.incarnation < peer_incarnation_ &&
      !SCOLL_MUTANT(stale_hello, "the identity of an earlier life is accepted")) {
    return make_error(errc::stale, "incarnation {} of node {} is older than {}", said.incarnation, peer_,
                      peer_incarnation_);
  }
  if (said.known_incarnation > endpoint_.options_.incarnation) {
    return make_error(errc::stale, "incarnation {} of node {} is older than {}",
                      endpoint_.options_.incarnation, endpoint_.options_.self, said.known_incarnation);
  }
  const bool knows_us = said.known_incarnation == endpoint_.options_.incarnation;
  const bool rebooted = peer_incarnation_ != 0 && said.incarnation > peer_incarnation_;
  if (!rebooted) {
    if (said.epoch < peer_epoch_ || (knows_us && said.known_epoch > epoch_)) {
      return make_error(errc::stale, "the identity of node {} belongs to an older session", peer_);
    }
    if (said.attempt <= l.peer_attempts(by)) {
      return error(errc::already_exists, "the connection is older than the one in use");
    }
    if (l.greeting(by) && endpoint_.options_.self < peer_) {
      return error(errc::already_exists, "both sides connect: the smaller node id's connection is used");
    }
  }
  if (rebooted) {
    if (const auto s = admit_life(said); !s) return s.error();
  }
  const bool continues =
      SCOLL_MUTANT(old_session_joined, "an identity is taken to be of the present session") ||
      (!rebooted && knows_us && said.epoch == peer_epoch_ && said.known_epoch == epoch_);
  if (!l.make_place_for(by))
    return make_error(errc::busy, "node {} has {} connections here already", peer_,
                      path_table::most_connected);
  follow(said);
  l.set_peer_attempts(by, said.attempt);
  return continues;
}

status session::on_welcome(const identity& said, lane& l, path_key by) noexcept {
  if (said.node != peer_ || said.target != endpoint_.options_.self ||
      said.cluster != endpoint_.options_.cluster) {
    return make_error(errc::not_member, "node {} of cluster '{}' answered at {}", said.node, said.cluster,
                      address_);
  }
  const bool rebooted = peer_incarnation_ != 0 && said.incarnation > peer_incarnation_;
  const bool older = said.incarnation < peer_incarnation_ || (!rebooted && said.epoch < peer_epoch_);
  if (said.known_incarnation != endpoint_.options_.incarnation || said.known_epoch != epoch_ || older) {
    return make_error(errc::stale, "the welcome of node {} belongs to an older session", peer_);
  }
  follow(said);
  l.set_peer_attempts(by, said.attempt);
  return {};
}

void session::declare_dead(std::uint64_t incarnation) noexcept {
  if (incarnation == 0 || incarnation < peer_incarnation_ || incarnation <= dead_incarnation_) return;
  peer_incarnation_ = dead_incarnation_ = incarnation;
  if (!SCOLL_MUTANT(death_unheard, "the callers of a node go on waiting when it is declared dead"))
    fail(make_error(errc::peer_died, "node {} is dead", peer_));
}

void session::declare_alive(std::uint64_t incarnation) noexcept {
  if (incarnation < peer_incarnation_) return;
  live_as(incarnation);
}

/// The peer lives in this incarnation, which is not earlier than the last.
void session::live_as(std::uint64_t incarnation) noexcept {
  dead_incarnation_ = 0;
  const std::uint64_t before = std::exchange(peer_incarnation_, incarnation);
  if (before == 0 || before == incarnation ||
      SCOLL_MUTANT(reboot_not_noticed, "a peer's new life goes on with the session of the old one"))
    return;
  // A broadcast or a call that has not left yet is for the services of the node, whichever life offers them.
  const bool fails = SCOLL_MUTANT(reboot_fails_unsent, "requests that never left fail when the peer reboots");
  reset(make_error(errc::peer_rebooted, "node {} came back with incarnation {}", peer_, incarnation),
        {.requests = fails ? unsent::none : unsent::to_services, .connecting = true});
  for (auto& l : lanes_) {
    if (l != nullptr) l->forget_peer_attempts();
  }
}

/// Enters the session of the pair (own epoch, peer's epoch), unless it is in it already.
void session::follow(const identity& said) noexcept {
  if (said.incarnation > peer_incarnation_) {
    live_as(said.incarnation);
  } else if (peer_epoch_ != 0 && said.epoch != peer_epoch_) {
    reset(make_error(errc::connection_lost, "node {} has given up the session", peer_),
          {.requests = unsent::all, .connecting = true});
  }
  silent_for_ = 0;
  last_contact_ = endpoint_.executor_.now();
  if (peer_epoch_ != 0) return;
  peer_epoch_ = said.epoch;
  peer_places_ = hash_of(said.rails);
  for (std::size_t c = 0; c < class_count; ++c) {
    classes_[c].credits.open(std::min(said.window[c], limits::window), endpoint_.options_.window[c]);
  }
  class_state& urgent = classes_[index(traffic_class::urgent)];
  urgent.for_notices = urgent.credits.available() / 2;
  endpoint_.handler_of(traffic_class::urgent).on_session_begun(*this);
}

bool session::keeps(unsent which, traffic_class klass) noexcept {
  const bool for_service = klass == traffic_class::collective || klass == traffic_class::call;
  return which == unsent::all || (which == unsent::to_services && for_service);
}

bool session::never_left(exchange& waiter) noexcept {
  if (!waiter.transmitted_) return true;
  if (waiter.queued_ == nullptr ||
      !SCOLL_MUTANT(reboot_resends_sent, "what a peer's earlier life may have received is sent to the next"))
    return false;
  waiter.queued_->unlink();
  classes_[index(waiter.klass_)].requests.push_back(*waiter.queued_);
  ++classes_[index(waiter.klass_)].queued;
  waiter.transmitted_ = false;
  return true;
}

/// Forgets the sequence state of both lanes and ends what was in flight.
void session::reset(const error& reason, kept keep) noexcept {
  const bool existed = std::exchange(peer_epoch_, 0) != 0;
  intrusive_list<exchange, exchange> ended;
  exchanges_.each([&](exchange& waiter) {
    if (keeps(keep.requests, waiter.klass_) && never_left(waiter)) return;
    if (SCOLL_MUTANT(lost_peer_unreported, "the callers of a lost peer are not told") && waiter.transmitted_)
      return;
    --pending_exchanges_[index(lane_of(waiter.klass_))];
    exchanges_.remove(waiter.id_);
    ended.push_back(waiter);
  });
  for (std::size_t c = 0; c < class_count; ++c) {
    class_state& k = classes_[c];
    const bool stays = keeps(keep.requests, static_cast<traffic_class>(c));
    while (!k.expected.empty()) release(k.expected.pop_front());
    while (!stays && !k.requests.empty()) release(k.requests.pop_front());
    if (k.requests.empty()) k.queued = 0;
    k.credits.reset();
  }
  while (keep.requests != unsent::all && !notices_.empty()) release(notices_.pop_front());
  for (auto& l : lanes_) {
    if (l != nullptr) l->reset(keep.connecting);
  }
  if (paths_ != nullptr) paths_->session_over();
  ++serial_;
  silent_for_ = 0;
  peer_pulse_ = 0;
  owed_calls_ = 0;
  orphans_.splice(incoming_);
  endpoint_.note_progress();
  kick();
  end_all(ended, reason);
  tell_emissions(reason);
  if (existed) ++endpoint_.statistics_.sessions_lost;
  // The layers above are told of a new life even if the old one had said goodbye.
  if (existed || reason == errc::peer_rebooted) endpoint_.tell_session_lost(*this, reason);
  if (with_client()) endpoint_.clients().session_over();
}

/// Tells the waiting exchanges. Each may cancel or destroy others of the list meanwhile.
void session::end_all(intrusive_list<exchange, exchange>& ended, const error& reason) noexcept {
  while (!ended.empty()) {
    exchange& waiter = ended.pop_front();
    waiter.session_ = nullptr;
    reply_event event;
    event.outcome = reason;
    event.reached = waiter.transmitted_;
    waiter.on_reply_(waiter, event);
  }
}

void session::fail(const error& reason) noexcept {
  ++epoch_;
  reset(reason, {.requests = unsent::none, .connecting = false});
}

void session::shut() noexcept {
  fail({errc::closed, "this node is shutting down"});
}

std::size_t session::owing() noexcept {
  std::size_t count = 0;
  for (incoming* work = incoming_.first(); work != nullptr; work = incoming_.next(*work)) ++count;
  return count;
}

/// What a lost bulk lane holds waits for a connection that may never come, and nobody waits for it.
bool session::quiet() const noexcept {
  const bool sent = held_[index(lane_id::control)] == 0 && (held_[index(lane_id::bulk)] == 0 || bulk_lost());
  return sent && incoming_.empty() && pending_exchanges_[0] == 0 && pending_exchanges_[1] == 0;
}

}  // namespace scoll::transport
