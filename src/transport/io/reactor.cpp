#include "transport/io/reactor.hpp"

#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>

#include "scoll/coro/error_format.hpp"
#include "transport/io/check_range.hpp"
#include "transport/io/poll_reactor.hpp"
#include "transport/io/uring_reactor.hpp"

namespace scoll::transport {
namespace {

status check_power_of_two(const char* name, std::uint32_t value, std::uint32_t least, std::uint32_t most) {
  if (std::has_single_bit(value) && value >= least && value <= most) return {};
  return make_error(errc::invalid_argument, "reactor.{} is {}, not a power of two in {}..{}", name, value,
                    least, most);
}

constexpr std::array backend_names{std::pair{reactor_backend::automatic, std::string_view("automatic")},
                                   std::pair{reactor_backend::io_uring, std::string_view("io_uring")},
                                   std::pair{reactor_backend::poll, std::string_view("poll")}};

/// The backend that the environment asks for. It is read here so that programs which read no settings obey it
/// too.
result<reactor_backend> backend_of_environment() {
  const char* const text = std::getenv("SCOLL_REACTOR_BACKEND");
  if (text == nullptr) return reactor_backend::automatic;
  if (const auto backend = parse_backend(text)) return *backend;
  return make_error(errc::invalid_argument,
                    "SCOLL_REACTOR_BACKEND is '{:.20}', not automatic, io_uring or poll", text);
}

void announce_poll(std::string_view why) noexcept {
  static std::atomic_flag announced;
  if (announced.test_and_set()) return;
  std::fprintf(
      stderr,
      "scoll: io_uring is not available (%.*s): using poll. Set SCOLL_REACTOR_BACKEND=poll to silence "
      "this line, or =io_uring to fail instead.\n",
      static_cast<int>(why.size()), why.data());
}

result<std::unique_ptr<reactor>> create_what_works(const reactor_options& options) {
  auto made = uring_reactor::create(options);
  if (made || made.error() != errc::unsupported) return made;
  const std::string_view why = made.error().text();
  if (options.announce) announce_poll(why);
  return poll_reactor::create(options, why);
}

}  // namespace

status reactor_options::validate() const {
  constexpr std::uint32_t most_entries = 32768;
  constexpr std::uint32_t most_buffers = 65536;  // a buffer's number has 16 bits
  constexpr std::uint32_t most_buffer_bytes = 16U << 20;
  const status checks[] = {
      check_power_of_two("submission_entries", submission_entries, 8, most_entries),
      check_power_of_two("completion_entries", completion_entries, 2 * submission_entries, 2 * most_entries),
      check_power_of_two("receive_buffers", receive_buffers, 2, most_entries),
      check_range("reactor.receive_buffer_bytes", receive_buffer_bytes, 256, most_buffer_bytes),
      check_range("reactor.receive_buffer_limit", receive_buffer_limit, receive_buffers, most_buffers)};
  for (const status& s : checks) {
    if (!s) return s;
  }
  return {};
}

std::string_view to_string(reactor_backend backend) noexcept {
  for (const auto& [known, name] : backend_names) {
    if (known == backend) return name;
  }
  return "unknown";
}

std::optional<reactor_backend> parse_backend(std::string_view name) noexcept {
  for (const auto& [backend, known] : backend_names) {
    if (known == name) return backend;
  }
  return std::nullopt;
}

result<std::unique_ptr<reactor>> reactor::create(const reactor_options& options) {
  if (const status s = options.validate(); !s) return s.error();
  const auto asked = backend_of_environment();
  if (!asked) return asked.error();
  try {
    switch (options.backend != reactor_backend::automatic ? options.backend : *asked) {
      case reactor_backend::io_uring: return uring_reactor::create(options);
      case reactor_backend::poll: return poll_reactor::create(options, "");
      case reactor_backend::automatic: break;
    }
    return create_what_works(options);
  } catch (const std::bad_alloc&) {
    return error::system(ENOMEM, "reactor");
  }
}

nanoseconds reactor::processor_time() const noexcept {
  timespec used{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + nanoseconds(used.tv_nsec);
}

void reactor::run() noexcept {
  running_ = true;
  while (!stopped_) run_once(nanoseconds::max());
  running_ = false;
  stopped_ = false;
}

}  // namespace scoll::transport
