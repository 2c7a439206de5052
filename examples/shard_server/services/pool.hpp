#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "df.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"
#include "transport/io/file.hpp"

namespace shard {

/// Tells how much the servers of one pool store. A pool is an out-of-band group: no server creates it. Each
/// server that needs to know a pool looks into its own copy of the cluster file, through the hook `members`.
struct pool {
  static constexpr scoll::service_id id = ids::pool;
  static constexpr std::string_view name = "pool";
  using request = df::request;
  using reply = df::reply;

  object_store* store;
  std::filesystem::path cluster_file;

  /// Reads the cluster file anew, so that a change of it counts without a restart. Errors: `not_found` (it
  /// has no such pool), `invalid_argument` (it is not a cluster file any more), `io_error`.
  scoll::task<scoll::result<scoll::membership_ptr>> members(std::uint64_t number) const;
  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
