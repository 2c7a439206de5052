#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "../store/object_store.hpp"
#include "ids.hpp"
#include "scoll/collective/agree.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/node.hpp"

namespace shard {

/// A server as the leader of a maintenance. The one that stores least has the most time for it; between equals
/// the lower id decides.
struct candidate {
  std::uint64_t bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t node = 0;
  void merge(const candidate& from) noexcept {
    if (from < *this) *this = from;
  }
  friend auto operator<=>(const candidate&, const candidate&) = default;
};
static_assert(scoll::agreeable<candidate>);

/// The leader that the servers have agreed on.
struct leadership {
  std::uint64_t term = 0;
  candidate leader;
  scoll::rank_set failed;  ///< the servers that have no part in it
};

/// The maintenance that is under way on this server, if there is one. A maintenance is as long as its group:
/// it ends where the group ends, whether the group is ended by its last broadcast or by the death of the
/// server that created it.
class maintenance_desk {
 public:
  /// Returns true if a maintenance is under way.
  bool under_way() const;
  const scoll::group_id& group() const noexcept { return group_; }
  scoll::node_id begun_by() const noexcept { return group_.creator; }
  const std::string& note() const noexcept { return note_; }
  /// The writes that were refused since the maintenance began.
  std::uint64_t refused() const noexcept { return refused_; }
  const std::optional<leadership>& leader() const noexcept { return leader_; }

  /// Enters a maintenance, with the group of it that `self` holds. Errors: `already_exists`.
  scoll::status begin(scoll::node& self, const scoll::group_id& group, std::string note);
  void lead(leadership chosen) { leader_ = std::move(chosen); }
  /// Says if a write may begin. Errors: `closed` while a maintenance is under way; the refusal is counted.
  scoll::status allow_write();

 private:
  scoll::node* self_ = nullptr;
  scoll::group_id group_;
  std::string note_;
  std::uint64_t refused_ = 0;
  std::optional<leadership> leader_;
};

enum class maintenance_step : std::uint8_t {
  begin,  ///< no writes from now on
  elect,  ///< agree on a leader
  end,    ///< the last broadcast of the group, which ends it
};

/// Closes all servers for writes, lets them agree on a leader, and opens them again.
struct maintenance {
  static constexpr scoll::service_id id = ids::maintenance;
  static constexpr std::string_view name = "maintenance";
  static constexpr std::size_t reply_capacity = 1024;
  static constexpr std::size_t longest_note = 200;
  struct request {
    maintenance_step step = maintenance_step::begin;
    scoll::group_id group;   ///< the group that this is sent to
    std::uint64_t term = 0;  ///< of the leader to be agreed on: the number of the agreement
    std::string note;
  };
  struct reply {
    scoll::sum<std::uint64_t> servers;
    scoll::sum<std::uint64_t> refused;        ///< writes, since the maintenance began
    scoll::set_union<std::uint64_t> leaders;  ///< nodes: exactly one, because it is agreed
  };

  scoll::node* self;
  object_store* store;
  maintenance_desk* desk;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);

 private:
  scoll::task<scoll::result<reply>> elect(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
