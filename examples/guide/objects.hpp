#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "scoll/collective.hpp"
#include "scoll/ship.hpp"

/// All programs of the guide share these declarations: one collective service and two functions.
namespace guide {

// [service]
/// The objects that one server keeps.
using object_map = std::map<std::string, std::string>;

/// Tells how many objects the servers hold and how large the largest one is.
struct usage {
  static constexpr scoll::service_id id{0x0120};
  struct request {
    std::string prefix;
  };
  struct reply {
    scoll::sum<std::uint64_t> objects;
    scoll::maximum<std::uint64_t> largest;
  };
  reply execute(const request& asked, scoll::bcast_context&) const {
    reply mine;
    for (const auto& [name, bytes] : *objects) {
      if (!name.starts_with(asked.prefix)) continue;
      mine.objects.value += 1;
      mine.largest.value = std::max<std::uint64_t>(mine.largest.value, bytes.size());
    }
    return mine;
  }

  const object_map* objects;
};
// [service]

// [functions]
struct put_request {
  std::string name;
  std::string bytes;
};
inline constexpr scoll::remote_function<put_request> put{"guide.put"};
inline constexpr scoll::remote_function<std::string, std::string> get{"guide.get"};
// [functions]

}  // namespace guide
