#pragma once

#include "scoll/ids.hpp"

/// The numbers that all servers of a cluster agree on. They never change: a service that changes its messages
/// gets a new version, and the number of a removed service is never used again.
namespace shard::ids {

inline constexpr scoll::service_id presence{0x0101};
inline constexpr scoll::service_id df{0x0102};
inline constexpr scoll::service_id scrub{0x0103};
inline constexpr scoll::service_id progress{0x0104};
inline constexpr scoll::service_id find{0x0105};
inline constexpr scoll::service_id top{0x0106};
inline constexpr scoll::service_id ingest{0x0107};
inline constexpr scoll::service_id object_io{0x0108};
inline constexpr scoll::service_id layout{0x0109};
inline constexpr scoll::service_id pool{0x010a};
inline constexpr scoll::service_id maintenance{0x010b};
inline constexpr scoll::service_id install{0x010c};
inline constexpr scoll::service_id ls{0x010d};
inline constexpr scoll::service_id epochs{0x010e};
inline constexpr scoll::service_id clients{0x010f};

}  // namespace shard::ids
