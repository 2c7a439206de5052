#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protocol.hpp"
#include "scoll/node.hpp"
#include "transport/io/file.hpp"

namespace remote_file {

/// Serves the files of one directory on a node. It must live as long as calls may arrive.
class server {
 public:
  server(scoll::node& on, scoll::transport::file_system& files, std::string directory);

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{256} * 1024;
  static constexpr std::size_t most_open = 1024;
  using open_file_ptr = std::shared_ptr<scoll::transport::file>;

  scoll::task<scoll::result<opened>> open(const open_request& r, scoll::stop_token stop);
  scoll::task<scoll::result<transferred>> write(const transfer_request& r, scoll::stop_token stop);
  scoll::task<scoll::result<transferred>> read(const transfer_request& r, scoll::stop_token stop);
  scoll::task<scoll::result<attributes>> stat(std::uint64_t handle, scoll::stop_token stop);
  scoll::result<open_file_ptr> find(std::uint64_t handle) const;

  scoll::node& node_;
  scoll::transport::file_system& files_;
  std::string directory_;
  std::map<std::uint64_t, open_file_ptr> open_;
  std::uint64_t next_handle_ = 1;
};

}  // namespace remote_file
