#include "transport/reactor.hpp"

#include <bit>
#include <cerrno>
#include <new>

#include "coro/error_format.hpp"
#include "uring_reactor.hpp"

namespace scoll::transport {
namespace {

status check_power_of_two(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (std::has_single_bit(value) && value >= least && value <= most) return {};
  return make_error(errc::invalid_argument, "reactor: {} is {}, not a power of two in {}..{}", name, value,
                    least, most);
}

status check_range(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (value >= least && value <= most) return {};
  return make_error(errc::invalid_argument, "reactor: {} is {}, not in {}..{}", name, value, least, most);
}

status check(const reactor_options& options) {
  constexpr std::uint32_t most_entries = 32768;
  constexpr std::uint32_t most_buffers = 65536;  // a buffer's number has 16 bits
  constexpr std::uint32_t most_buffer_bytes = 16U << 20;
  const status checks[] = {
      check_power_of_two("submission_entries", options.submission_entries, 8, most_entries),
      check_power_of_two("completion_entries", options.completion_entries, 2 * options.submission_entries,
                         2 * most_entries),
      check_power_of_two("receive_buffers", options.receive_buffers, 2, most_entries),
      check_range("receive_buffer_bytes", options.receive_buffer_bytes, 256, most_buffer_bytes),
      check_range("receive_buffer_limit", options.receive_buffer_limit, options.receive_buffers,
                  most_buffers)};
  for (const status& s : checks) {
    if (!s) return s;
  }
  return {};
}

}  // namespace

result<std::unique_ptr<reactor>> reactor::create(const reactor_options& options) {
  if (const scoll::status s = check(options); !s) return s.error();
  try {
    return uring_reactor::create(options);
  } catch (const std::bad_alloc&) {
    return error::system(ENOMEM, "reactor");
  }
}

void reactor::run() noexcept {
  running_ = true;
  while (!stopped_) run_once(nanoseconds::max());
  running_ = false;
  stopped_ = false;
}

}  // namespace scoll::transport
