#include "transport/io/io_awaitables.hpp"

namespace scoll::transport {
namespace detail {

error io_failure(int errno_value, const char* operation, const char* path) {
  const error named = file_error(errc::cancelled, operation, path == nullptr ? "" : path);
  return errno_value == ECANCELED ? named : error::system(errno_value, named.text());
}

}  // namespace detail

status async_connect::await_resume() {
  if (outcome() >= 0) return {};
  return detail::io_failure(-outcome(), "connect", address_.to_string().c_str());
}

}  // namespace scoll::transport
