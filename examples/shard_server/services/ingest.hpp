#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../store/object_name.hpp"
#include "../store/object_store.hpp"
#include "ids.hpp"
#include "maintenance.hpp"
#include "progress.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// Copies a folder into the cluster. Every server walks the same folder, which all of them must see, and
/// copies the files that it owns into its store. The object's name is the file's path without the leading
/// slash. Symbolic links and special files are left out. The servers do not wait until the copies reach the
/// disk, because the source is still there.
struct ingest {
  static constexpr scoll::service_id id = ids::ingest;
  static constexpr std::string_view name = "ingest";
  struct request {
    std::string folder;     ///< absolute
    std::uint64_t run = 0;  ///< for `progress`
    std::uint64_t max_objects =
        0;  ///< over all servers: the walk ends there, on every server at the same file
    std::uint64_t max_bytes = 0;
  };
  struct reply {
    scoll::sum<std::uint64_t> objects;
    scoll::sum<std::uint64_t> bytes;
    scoll::sum<std::uint64_t> unreadable;  ///< files and folders; the owner of each counts it
    scoll::any_of limit_reached;
  };

  object_store* store;
  progress_board* board;
  maintenance_desk* upkeep;
  placement place;

  scoll::status prepare(const request& asked, scoll::bcast_context& call);
  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
