#pragma once

#include <cstdint>
#include <string>

#include "scoll/bulk/bulk.hpp"
#include "scoll/ship/remote_function.hpp"

/// Client and server of the example share these declarations: five functions and their types.
namespace remote_file {

struct open_request {
  std::string name;  ///< within the server's directory
  bool create = false;
};
struct opened {
  std::uint64_t handle = 0;
};

/// `data` is memory of the client: the server pulls the bytes to write from it, and pushes the bytes it has
/// read into it.
struct transfer_request {
  std::uint64_t handle = 0;
  std::uint64_t offset = 0;
  scoll::region_descriptor data;
};
struct transferred {
  std::uint64_t bytes = 0;
};

/// This struct may gain fields: older and newer programs still understand each other (docs/wire.md).
struct attributes {
  static constexpr std::uint16_t wire_version = 1;
  std::uint64_t size = 0;
};

inline constexpr scoll::remote_function<open_request, opened> open_file{"remote_file.open"};
inline constexpr scoll::remote_function<transfer_request, transferred> read_file{"remote_file.read"};
inline constexpr scoll::remote_function<transfer_request, transferred> write_file{"remote_file.write"};
inline constexpr scoll::remote_function<std::uint64_t, attributes> stat_file{"remote_file.stat"};
inline constexpr scoll::remote_function<std::uint64_t> close_file{"remote_file.close"};

}  // namespace remote_file
