#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "on_reactor.hpp"
#include "scoll/coro/error_format.hpp"
#include "seccomp.hpp"
#include "transport/io/socket.hpp"

// Tests which backend a reactor chooses: on request, and when io_uring is forbidden.

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::transport;
using Catch::Matchers::Contains;

namespace {

constexpr const char* variable_name = "SCOLL_REACTOR_BACKEND";

/// Sets or removes the environment variable for the lifetime of this object.
class environment {
 public:
  explicit environment(const char* value) {
    if (const char* const before = std::getenv(variable_name)) before_ = before;
    set(value);
  }
  ~environment() { set(before_ ? before_->c_str() : nullptr); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  static void set(const char* value) {
    REQUIRE((value != nullptr ? setenv(variable_name, value, 1) : unsetenv(variable_name)) == 0);
  }
  std::optional<std::string> before_;
};

std::string backend_of(reactor_backend asked) {
  const auto made = reactor::create({.backend = asked, .announce = false});
  return made ? (*made)->features().backend : describe(made.error());
}

struct child_report {
  std::string said;  // on stderr
  int status = -1;
};

/// Runs `work` in a child process and captures its stderr. `work` returns an exit code.
child_report in_child(const std::function<int()>& work) {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const unique_fd from_child(ends[0]);
  unique_fd to_parent(ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    dup2(to_parent.get(), STDERR_FILENO);
    const int code = work();
    std::fflush(stderr);
    _exit(code);
  }
  to_parent.reset();
  child_report report;
  std::array<char, 512> some;
  for (ssize_t n = 0; (n = read(from_child.get(), some.data(), some.size())) > 0;)
    report.said.append(some.data(), static_cast<std::size_t>(n));
  waitpid(child, &report.status, 0);
  return report;
}

constexpr int no_filter = 77;

class counter final : public io_completion {
 public:
  counter() noexcept : io_completion(&note) {}
  ~counter() = default;
  std::int32_t last = 0;
  std::int64_t bytes = 0;

 private:
  static void note(io_completion& done, const event& e) noexcept {
    auto& self = static_cast<counter&>(done);
    self.last = e.result;
    if (e.result > 0) self.bytes += e.result;
  }
};

/// True if bytes pass from one reactor of this thread to the other. It does not use the test framework,
/// because it runs in child processes.
bool talk(reactor& a, reactor& b) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const unique_fd left(ends[0]), right(ends[1]);
  const std::array<std::byte, 100> bytes{};
  counter sent, received;
  b.receive_multishot(right.get(), received);
  for (int i = 0; i < 50; ++i) {
    a.send(left.get(), bytes, sent);
    const std::int64_t wanted = received.bytes + 100;
    for (int turn = 0; turn < 1000 && (sent.pending() || received.bytes < wanted); ++turn) {
      a.run_once(nanoseconds::zero());
      b.run_once(1ms);
    }
    if (received.bytes != wanted || sent.last != 100) return false;
  }
  b.cancel(received);
  while (received.pending()) b.run_once(1ms);
  return received.last == -ECANCELED;
}

/// Makes two reactors talk in a process where io_uring_setup fails with this error.
int without_io_uring(int errno_value, const reactor_options& options, const char* backend) {
  if (!on_reactor::forbid_call(__NR_io_uring_setup, errno_value)) return no_filter;
  const auto a = reactor::create(options), b = reactor::create(options);
  if (!a || !b) {
    std::fprintf(stderr, "%s", describe((!a ? a : b).error()).c_str());
    return 1;
  }
  if ((*a)->features().backend != backend || (*b)->features().backend != backend) return 2;
  return talk(**a, **b) ? 0 : 3;
}

bool voided(const child_report& r) {
  const bool no = WIFEXITED(r.status) && WEXITSTATUS(r.status) == no_filter;
  if (no) WARN("no seccomp filters here");
  return no;
}

}  // namespace

TEST_CASE("backends have names") {
  for (const auto backend : {reactor_backend::automatic, reactor_backend::io_uring, reactor_backend::poll})
    CHECK(parse_backend(to_string(backend)) == backend);
  CHECK(to_string(reactor_backend::poll) == "poll");
  for (const char* name : {"", "epoll", "Poll", "io-uring", "poll "}) CHECK_FALSE(parse_backend(name));
}

TEST_CASE("a backend named in code stands, otherwise the environment decides") {
  const environment asked(GENERATE(as<const char*>(), nullptr, "automatic", "io_uring", "poll"));
  CHECK(backend_of(reactor_backend::poll) == "poll");
  // Where the ring works, as `backend_of` would say otherwise.
  const std::string ring = backend_of(reactor_backend::io_uring);
  CHECK((ring == "io_uring" || ring.starts_with("unsupported")));
  const char* const variable = std::getenv(variable_name);
  const std::string chosen = backend_of(reactor_backend::automatic);
  if (variable == nullptr || std::string_view(variable) == "automatic") {
    CHECK(chosen == (ring == "io_uring" ? "io_uring" : "poll"));
  } else {
    CHECK(chosen == (std::string_view(variable) == "poll" ? "poll" : ring));
  }
}

TEST_CASE("a variable that names no backend is refused, whatever the code says") {
  const environment asked("epoll");
  for (const auto backend : {reactor_backend::automatic, reactor_backend::io_uring, reactor_backend::poll}) {
    const auto made = reactor::create({.backend = backend});
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::invalid_argument);
    CHECK(made.error().text() == "SCOLL_REACTOR_BACKEND is 'epoll', not automatic, io_uring or poll");
  }
}

TEST_CASE("poll has none of the ring's features and no notes") {
  const auto r = on_reactor::make({.backend = reactor_backend::poll});
  const reactor_features& f = r->features();
  CHECK(f.backend == "poll");
  CHECK_FALSE(f.kernel.empty());
  CHECK(f.notes.empty());
  CHECK_FALSE((f.defer_taskrun || f.single_issuer || f.multishot_receive || f.multishot_receive_message ||
               f.multishot_accept || f.provided_buffer_ring || f.registered_ring_fd));
}

TEST_CASE("where io_uring is forbidden or unknown, poll takes its place and says so once") {
  const environment nothing(nullptr);
  const int failure = GENERATE(EPERM, ENOSYS);
  const auto r = in_child([&] { return without_io_uring(failure, {}, "poll"); });
  if (voided(r)) return;
  CHECK(r.status == 0);
  CHECK_THAT(r.said, Catch::Matchers::StartsWith("scoll: io_uring is not available (") &&
                         Contains("): using poll") && Contains("SCOLL_REACTOR_BACKEND") &&
                         Contains("seccomp"));
  CHECK(std::count(r.said.begin(), r.said.end(), '\n') == 1);
  CHECK(r.said.back() == '\n');
}

TEST_CASE("poll takes its place silently if it may not speak or was asked for") {
  const environment nothing(nullptr);
  const reactor_options quiet =
      GENERATE(reactor_options{.announce = false}, reactor_options{.backend = reactor_backend::poll});
  const auto r = in_child([&] { return without_io_uring(EPERM, quiet, "poll"); });
  if (voided(r)) return;
  CHECK(r.status == 0);
  CHECK(r.said.empty());
}

TEST_CASE("who insists on io_uring hears why there is none") {
  const environment asked("io_uring");
  const auto r = in_child([] { return without_io_uring(EPERM, {}, "io_uring"); });
  if (voided(r)) return;
  CHECK(WEXITSTATUS(r.status) == 1);
  CHECK_THAT(r.said, Catch::Matchers::StartsWith("unsupported: io_uring is"));
}

TEST_CASE("what poll could not help is no reason to fall back") {
  const environment nothing(nullptr);
  const auto r = in_child([] { return without_io_uring(EMFILE, {}, "poll"); });
  if (voided(r)) return;
  CHECK(WEXITSTATUS(r.status) == 1);
  CHECK_THAT(r.said, Contains("Too many open files"));
}
