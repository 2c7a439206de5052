#include "scoll/journal.hpp"

#include <new>
#include <utility>

#include "scoll/collective/called.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/collective/tombstones.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/rail_snapshot.hpp"
#include "transport/session/greeting.hpp"

namespace scoll {

std::string_view to_string(log_level level) noexcept {
  switch (level) {
    case log_level::error: return "error";
    case log_level::warning: return "warning";
    case log_level::info: return "info";
    case log_level::debug: return "debug";
  }
  return "unknown";
}

std::string_view to_string(node_event_kind kind) noexcept {
  constexpr std::array<std::string_view, node_event_kinds> names{
      "session_begun",  "session_lost",    "peer_dead",      "peer_alive",       "handshake_refused",
      "link_broken",    "path_suspected",  "path_dead",      "path_good",        "path_crossed",
      "rail_dead",      "rail_alive",      "messages_moved", "gossip_disagrees", "security",
      "not_authorised", "answers_missing", "group_created",  "group_ended",      "group_revoked"};
  const auto index = static_cast<std::size_t>(kind);
  return index < names.size() ? names[index] : "unknown";
}

}  // namespace scoll

namespace scoll::detail {
namespace {

/// The most subjects of one kind and peer: its paths, for bulk and for the other classes.
constexpr std::uint64_t parts = 2 * transport::max_rails * transport::max_rails;

/// True for kinds that strangers or the work itself may cause at any rate. They must not drive out the others.
bool may_be_frequent(node_event_kind kind) noexcept {
  return kind >= node_event_kind::handshake_refused;
}

log_level level_of(node_event_kind kind) noexcept {
  switch (kind) {
    case node_event_kind::link_broken:
    case node_event_kind::answers_missing:
    case node_event_kind::gossip_disagrees: return log_level::error;
    case node_event_kind::session_lost:
    case node_event_kind::peer_dead:
    case node_event_kind::security:
    case node_event_kind::not_authorised:
    case node_event_kind::handshake_refused:
    case node_event_kind::path_suspected:
    case node_event_kind::path_dead:
    case node_event_kind::path_crossed:
    case node_event_kind::rail_dead: return log_level::warning;
    case node_event_kind::session_begun:
    case node_event_kind::peer_alive:
    case node_event_kind::path_good:
    case node_event_kind::rail_alive:
    case node_event_kind::messages_moved:
    case node_event_kind::group_revoked: return log_level::info;
    case node_event_kind::group_created:
    case node_event_kind::group_ended: break;
  }
  return log_level::debug;
}

std::string origin_of(const group_id& id) {
  return id.creator == 0 ? fmt::format("id {} of service {:#06x}", id.counter, id.incarnation)
                         : fmt::format("number {} of node {}", id.counter, id.creator);
}

std::string words_of(const path_words& path) {
  if (path.rail.empty()) return std::string(path.address);
  return path.address.empty() ? fmt::format("rail {}", path.rail)
                              : fmt::format("rail {} to {}", path.rail, path.address);
}

node_event_kind kind_of(transport::path_news::kind what) noexcept {
  using kind = transport::path_news::kind;
  switch (what) {
    case kind::suspected: return node_event_kind::path_suspected;
    case kind::dead: return node_event_kind::path_dead;
    case kind::good: return node_event_kind::path_good;
    case kind::crossed: return node_event_kind::path_crossed;
    case kind::moved: break;
  }
  return node_event_kind::messages_moved;
}

std::string whom(node_id peer) {
  if (transport::is_client(peer)) return fmt::format("client {:x}", peer & ~transport::client_bit);
  return peer == 0 ? std::string("an unknown node") : fmt::format("node {}", peer);
}

}  // namespace

/// `part` tells subjects of one kind and peer apart. It makes the text only if it is needed. An event for which there is no memory is only counted.
template <class Text>
void journal::note(node_event_kind kind, node_id peer, Text text, std::uint64_t part) noexcept {
  ++counts_[static_cast<std::size_t>(kind)];
  try {
    const bool client = transport::is_client(peer);
    const node_id about = client ? transport::client_bit : peer;  // one subject for all clients
    const std::uint64_t subject =
        (about * node_event_kinds + static_cast<std::uint64_t>(kind)) * parts + part;
    const log_limit::verdict line = limit_.ask(subject, executor_.now());
    if (!line.passes && (client || may_be_frequent(kind))) return;
    const std::string made = text();
    keep(kind, peer, made);
    if (line.passes) tell(kind, made, line.left_out);
  } catch (const std::bad_alloc&) {
    return;
  }
}

void journal::keep(node_event_kind kind, node_id peer, const std::string& text) {
  node_event made{last_ + 1, executor_.now(), kind, level_of(kind), peer, text};
  if (ring_.size() < capacity) {
    ring_.push_back(std::move(made));
  } else {
    ring_[last_ % capacity] = std::move(made);
  }
  ++last_;
  news_.set();
  news_.reset();
}

void journal::tell(node_event_kind kind, const std::string& text, std::uint64_t left_out) noexcept {
  if (log_ == nullptr) return;
  if (left_out == 0) return log_->log(level_of(kind), text);
  log_->log(level_of(kind), fmt::format("{} ({} lines like this were left out)", text, left_out));
}

std::vector<node_event> journal::events(std::uint64_t after) const {
  std::vector<node_event> found;
  const std::uint64_t first = last_ - ring_.size();  // the number before that of the oldest one
  for (std::uint64_t n = after > first ? after : first; n < last_; ++n) found.push_back(ring_[n % capacity]);
  return found;
}

void journal::session_begun(node_id peer, std::string_view address) noexcept {
  note(node_event_kind::session_begun, peer,
       [&] { return fmt::format("a session with {} at {} has begun", whom(peer), address); });
}

void journal::session_lost(node_id peer, const error& reason) noexcept {
  note(node_event_kind::session_lost, peer,
       [&] { return fmt::format("the session with {} is lost: {}", whom(peer), describe(reason)); });
}

void journal::peer_dead(node_id peer, std::uint64_t incarnation) noexcept {
  note(node_event_kind::peer_dead, peer,
       [&] { return fmt::format("node {} is dead (incarnation {})", peer, incarnation); });
}

void journal::peer_alive(node_id peer, std::uint64_t incarnation) noexcept {
  note(node_event_kind::peer_alive, peer,
       [&] { return fmt::format("node {} is alive (incarnation {})", peer, incarnation); });
}

void journal::handshake_refused(node_id peer, const error& reason) noexcept {
  note(node_event_kind::handshake_refused, peer,
       [&] { return fmt::format("a handshake with {} was refused: {}", whom(peer), describe(reason)); });
}

void journal::link_broken(node_id peer, const error& reason) noexcept {
  note(node_event_kind::link_broken, peer, [&] {
    return fmt::format("a connection of {} was broken off, because it violates the protocol: {}", whom(peer),
                       describe(reason));
  });
}

void journal::answers_missing(node_id peer, std::size_t waiting, std::size_t owing) noexcept {
  note(node_event_kind::answers_missing, peer, [&] {
    return fmt::format("{} requests wait for {}, which works at {}: some of them wait for nothing", waiting,
                       whom(peer), owing);
  });
}

void journal::gossip_disagrees(node_id peer, std::string_view address, std::string_view what) noexcept {
  note(node_event_kind::gossip_disagrees, peer, [&] {
    return fmt::format("the gossip of {} at {} has another configuration: {}", whom(peer), address,
                       what == "none" ? "it has not said in what" : what);
  });
}

void journal::path_news(node_id self, node_id peer, const transport::path_news& news, const path_words& path,
                        const path_words& to) noexcept {
  using kind = transport::path_news::kind;
  const auto text = [&] {
    switch (news.what) {
      case kind::suspected:
        return fmt::format("the path to {} by {} is suspected: {}", whom(peer), words_of(path), news.why);
      case kind::dead:
        return fmt::format("the path to {} by {} is dead: {}", whom(peer), words_of(path), news.why);
      case kind::good: return fmt::format("the path to {} by {} is good again", whom(peer), words_of(path));
      case kind::crossed:
        return fmt::format(
            "the path to {} by {} is crossed: its connections arrive at rail {} of the peer, not at rail {}",
            whom(peer), words_of(path), news.to.theirs + 1, news.path.theirs + 1);
      case kind::moved: break;
    }
    return fmt::format("{} of node {} to {} now go by {}, not by {}: {}",
                       news.bulk ? "bulk messages" : "messages", self, whom(peer), words_of(to),
                       words_of(path), news.why);
  };
  const auto number = static_cast<std::uint64_t>(news.path.own * transport::max_rails + news.path.theirs);
  note(kind_of(news.what), peer, text, number + (news.bulk ? parts / 2 : 0));
}

void journal::rail_news(node_id self, const transport::rail_news& news, std::string_view name) noexcept {
  note(
      news.dead ? node_event_kind::rail_dead : node_event_kind::rail_alive, 0,
      [&] {
        if (!news.dead) return fmt::format("rail {} of node {} is alive again", name, self);
        return fmt::format("rail {} of node {} is dead: {}, while they answer over others", name, self,
                           rail_verdict(news.peers));
      },
      news.rail);
}

void journal::security(std::string_view what) noexcept {
  note(node_event_kind::security, 0, [what] { return std::string(what); });
}

error journal::not_authorised(node_id caller, std::string_view client, std::string_view what) noexcept {
  const std::string who = client.empty() ? whom(caller) : fmt::format("client {}", client);
  note(node_event_kind::not_authorised, caller, [&] { return fmt::format("{} may not use {}", who, what); });
  return make_error(errc::not_authorised, "{:.32} may not use {:.40}", who, what);
}

void journal::group_created(const group_state& group) noexcept {
  note(node_event_kind::group_created, group.id.creator, [&] {
    return fmt::format("{} with {} members was created ({})", called(group), group.members->size(),
                       origin_of(group.id));
  });
}

void journal::group_ended(const group_state& group, const group_ending& how) noexcept {
  note(node_event_kind::group_ended, group.id.creator, [&] {
    return fmt::format("{} has ended, by node {} ({})", called(group), how.by, origin_of(group.id));
  });
}

void journal::group_revoked(const group_state& group) noexcept {
  note(node_event_kind::group_revoked, group.id.creator, [&] {
    return fmt::format("{} was revoked: {} ({})", called(group), describe(*group.revoked),
                       origin_of(group.id));
  });
}

}  // namespace scoll::detail
