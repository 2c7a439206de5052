#include "transport/io_awaitables.hpp"

#include <string>

#include "coro/error_format.hpp"

namespace scoll::transport {
namespace detail {

error io_failure(int errno_value, const char* operation, const char* path) {
  char text[error::text_capacity];
  const auto end = path == nullptr ? fmt::format_to_n(text, sizeof text, "{}", operation)
                                   : fmt::format_to_n(text, sizeof text, "{} {}", operation, path);
  const std::string_view shown(text, end.size < sizeof text ? end.size : sizeof text);
  if (errno_value == ECANCELED) return {errc::cancelled, shown};
  return error::system(errno_value, shown);
}

}  // namespace detail

status async_connect::await_resume() {
  if (outcome() >= 0) return {};
  return detail::io_failure(-outcome(), "connect", address_.to_string().c_str());
}

}  // namespace scoll::transport
