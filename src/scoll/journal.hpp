#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/event.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/log_limit.hpp"
#include "scoll/node_event.hpp"
#include "transport/session/rails/own_rail.hpp"
#include "transport/session/rails/path_news.hpp"

namespace scoll::detail {

struct group_state;
struct group_ending;

/// A path, for people: the name of this node's rail (empty if it has none), and the peer's address.
struct path_words {
  std::string_view rail;
  std::string_view address;
};

/// The latest events of a node, its log lines, and counts of all events. Refusals,
/// violations, changes of paths and the lives of groups may be frequent: one of each kind and peer, or path, is
/// kept in ten seconds, and the others are only counted.
class journal {
 public:
  static constexpr std::size_t capacity = 256;

  /// `log` may be null; else it must outlive the journal.
  journal(executor& ex, log_sink* log) noexcept : executor_(ex), log_(log) {}

  void session_begun(node_id peer, std::string_view address) noexcept;
  void session_lost(node_id peer, const error& reason) noexcept;
  void peer_dead(node_id peer, std::uint64_t incarnation) noexcept;
  void peer_alive(node_id peer, std::uint64_t incarnation) noexcept;
  void handshake_refused(node_id peer, const error& reason) noexcept;
  void link_broken(node_id peer, const error& reason) noexcept;
  void answers_missing(node_id peer, std::size_t waiting, std::size_t owing) noexcept;
  void gossip_disagrees(node_id peer, std::string_view address, std::string_view what) noexcept;
  void path_news(node_id self, node_id peer, const transport::path_news& news, const path_words& path,
                 const path_words& to) noexcept;
  /// `name` is that of the rail.
  void rail_news(node_id self, const transport::rail_news& news, std::string_view name) noexcept;
  void security(std::string_view what) noexcept;
  /// A caller may not use `what`, a function or service. Returns the error for it.
  error not_authorised(node_id caller, std::string_view client, std::string_view what) noexcept;
  void group_created(const group_state& group) noexcept;
  void group_ended(const group_state& group, const group_ending& how) noexcept;
  void group_revoked(const group_state& group) noexcept;

  /// The kept events with numbers greater than `after`, in their order.
  std::vector<node_event> events(std::uint64_t after) const;
  /// The number of the latest event; 0 if there was none.
  std::uint64_t last() const noexcept { return last_; }
  std::uint64_t count(node_event_kind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)]; }
  /// It wakes its waiters with every event, and is never set.
  event& news() noexcept { return news_; }

 private:
  template <class Text>
  void note(node_event_kind kind, node_id peer, Text text, std::uint64_t part = 0) noexcept;
  void keep(node_event_kind kind, node_id peer, const std::string& text);
  void tell(node_event_kind kind, const std::string& text, std::uint64_t left_out) noexcept;

  executor& executor_;
  log_sink* log_;
  log_limit limit_;
  std::vector<node_event> ring_;
  std::uint64_t last_ = 0;
  std::array<std::uint64_t, node_event_kinds> counts_{};
  event news_;
};

}  // namespace scoll::detail
