#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "protocol.hpp"
#include "scoll/ship/ship.hpp"

namespace remote_file {

/// A file on another node. Its user must call `close`, because the destructor does not.
class client_file {
 public:
  static scoll::task<scoll::result<client_file>> open(scoll::node& from, scoll::node_id server,
                                                      std::string name, bool create,
                                                      scoll::ship_options options);

  /// The server moves the bytes: it pulls or pushes them. When the await has ended, nothing refers to the
  /// bytes any more.
  scoll::task<scoll::result<std::uint64_t>> write(std::span<const std::byte> bytes, std::uint64_t offset,
                                                  scoll::ship_options options);
  scoll::task<scoll::result<std::uint64_t>> read(std::span<std::byte> into, std::uint64_t offset,
                                                 scoll::ship_options options);
  scoll::task<scoll::result<attributes>> stat(scoll::ship_options options);
  scoll::task<scoll::status> close(scoll::ship_options options);

 private:
  client_file(scoll::node& from, scoll::node_id server, std::uint64_t handle) noexcept
      : node_(&from), server_(server), handle_(handle) {}

  scoll::node* node_;
  scoll::node_id server_;
  std::uint64_t handle_;
};

}  // namespace remote_file
