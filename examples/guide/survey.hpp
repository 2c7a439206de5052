#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "objects.hpp"

namespace guide {

// [service]
/// Counts the objects of all servers whose names begin with the prefix, and those among them that are copies of the
/// sample.
struct survey {
  static constexpr scoll::service_id id{0x0121};
  struct request {
    std::string prefix;
    std::vector<std::byte> sample;
  };
  struct reply {
    scoll::sum<std::uint64_t> servers;
    scoll::sum<std::uint64_t> objects;
    scoll::sum<std::uint64_t> copies;
  };
  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context&) const {
    reply mine{.servers = {1}, .objects = {}, .copies = {}};
    for (const auto& [name, bytes] : *objects) {  // objects on disks would be awaited here
      if (!name.starts_with(asked.prefix)) continue;
      mine.objects.value += 1;
      if (std::ranges::equal(std::as_bytes(std::span(bytes)), asked.sample)) mine.copies.value += 1;
    }
    co_return mine;
  }

  const object_map* objects;
};
// [service]

}  // namespace guide
