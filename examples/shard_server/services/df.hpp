#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "../store/object_store.hpp"
#include "ids.hpp"
#include "scoll/collective/service.hpp"

namespace shard {

/// A file system that holds objects, as one server saw it.
struct filesystem {
  std::uint64_t machine = 0;  ///< identifies one boot of one machine
  std::uint64_t device = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t free_bytes = 0;
};

/// An aggregate that the library does not have: a set of file systems, sorted by machine and device. Each is
/// counted once, however many servers keep their objects on it.
struct filesystems {
  std::vector<filesystem> each;
  void merge(const filesystems& from) noexcept;
};

/// How much the cluster stores: sums over all servers.
struct df {
  static constexpr scoll::service_id id = ids::df;
  static constexpr std::string_view name = "df";
  struct request {};
  struct reply {
    scoll::sum<std::uint64_t> objects;
    scoll::sum<std::uint64_t> bytes;
    filesystems disks;
  };

  object_store* store;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call);
};

}  // namespace shard
