#pragma once

#include <filesystem>

#include "coro/result.hpp"
#include "transport/socket.hpp"

namespace shard {

/// Makes a server's folder if need be and keeps it for this process until the result is destroyed, or the
/// process ends in whatever way. Blocking. Errors: `busy` (another server uses it), `io_error`.
scoll::result<scoll::transport::unique_fd> lock_folder(const std::filesystem::path& folder);

}  // namespace shard
