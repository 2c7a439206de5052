#include "transport/io/uring_probe.hpp"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

struct setup_step {
  unsigned flags;
  std::uint32_t disabled_by;  // bits of `reactor_disable` that skip this step
  const char* lost;           // a feature of the step before that this step lacks
};

constexpr unsigned always = IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
constexpr setup_step steps[] = {
    {always | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER |
         IORING_SETUP_DEFER_TASKRUN,
     reactor_disable::defer_taskrun | reactor_disable::single_issuer | reactor_disable::cooperative_taskrun,
     ""},
    {always | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_SINGLE_ISSUER |
         IORING_SETUP_COOP_TASKRUN,
     reactor_disable::single_issuer | reactor_disable::cooperative_taskrun,
     "completions are not deferred (IORING_SETUP_DEFER_TASKRUN, kernel 6.1)"},
    {always | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_COOP_TASKRUN,
     reactor_disable::cooperative_taskrun, "no single issuer (IORING_SETUP_SINGLE_ISSUER, kernel 6.0)"},
    {always, 0, "completions interrupt (IORING_SETUP_COOP_TASKRUN, kernel 5.19)"},
};

constexpr unsigned needed_features = IORING_FEAT_NODROP | IORING_FEAT_SUBMIT_STABLE | IORING_FEAT_EXT_ARG;

struct needed_operation {
  int code;
  const char* name;
  const char* kernel;
};
constexpr needed_operation needed_operations[] = {
    {IORING_OP_POLL_ADD, "POLL_ADD", "5.1"},
    {IORING_OP_FSYNC, "FSYNC", "5.1"},
    {IORING_OP_SENDMSG, "SENDMSG", "5.3"},
    {IORING_OP_RECVMSG, "RECVMSG", "5.3"},
    {IORING_OP_ACCEPT, "ACCEPT", "5.5"},
    {IORING_OP_CONNECT, "CONNECT", "5.5"},
    {IORING_OP_ASYNC_CANCEL, "ASYNC_CANCEL", "5.5"},
    {IORING_OP_SEND, "SEND", "5.6"},
    {IORING_OP_RECV, "RECV", "5.6"},
    {IORING_OP_OPENAT, "OPENAT", "5.6"},
    {IORING_OP_CLOSE, "CLOSE", "5.6"},
    {IORING_OP_READ, "READ", "5.6"},
    {IORING_OP_WRITE, "WRITE", "5.6"},
    {IORING_OP_STATX, "STATX", "5.6"},
    {IORING_OP_RENAMEAT, "RENAMEAT", "5.11"},
    {IORING_OP_UNLINKAT, "UNLINKAT", "5.11"},
    {IORING_OP_MKDIRAT, "MKDIRAT", "5.15"},
};

std::string kernel_release() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "unknown";
}

// The sysctl's value; -1 if the kernel has none.
int io_uring_disabled_sysctl() noexcept {
  int value = -1;
  if (std::FILE* const file = std::fopen("/proc/sys/kernel/io_uring_disabled", "re"); file != nullptr) {
    if (std::fscanf(file, "%d", &value) != 1) value = -1;
    std::fclose(file);
  }
  return value;
}

error forbidden() {
  switch (io_uring_disabled_sysctl()) {
    case 2:
      return {errc::unsupported, "io_uring is disabled: sysctl kernel.io_uring_disabled=2 (allow it with 0)",
              EPERM};
    case 1:
      return {errc::unsupported,
              "io_uring is restricted: kernel.io_uring_disabled=1, not in kernel.io_uring_group", EPERM};
    default:
      return {errc::unsupported,
              "io_uring is forbidden by a seccomp filter: allow it in the container's profile", EPERM};
  }
}

error no_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return error::system(ENOMEM, "io_uring: the kernel has no memory for the rings");
  }
  const error formatted = make_error(
      errc::io_error, "io_uring: locked memory limit {} KiB is too low, raise it (ulimit -l, LimitMEMLOCK=)",
      limit.rlim_cur / 1024);
  return error::system(ENOMEM, formatted.text());
}

error old_kernel(int errno_value, std::string_view what, std::string_view kernel) {
  const error formatted = make_error(errc::unsupported, "{} {:.20}: 6.1 or later is needed", what, kernel);
  return {errc::unsupported, formatted.text(), errno_value};
}

// A kernel that knows an operation complains of the descriptor; any other kernel refuses the operation
// itself.
bool complains_of_no_socket(io_uring& ring, io_uring_sqe& probe) noexcept {
  io_uring_sqe_set_data64(&probe, 0);
  io_uring_cqe* cqe = nullptr;
  __kernel_timespec limit{1, 0};
  if (io_uring_submit_and_wait_timeout(&ring, &cqe, 1, &limit, nullptr) < 0 || cqe == nullptr) return false;
  const int result = cqe->res;
  io_uring_cqe_seen(&ring, cqe);
  return result == -ENOTSOCK;
}

}  // namespace

error setup_failure(int errno_value, std::string_view kernel) {
  switch (errno_value) {
    case EPERM:
    case EACCES: return forbidden();
    case ENOMEM: return no_memory();
    case ENOSYS: return old_kernel(ENOSYS, "no io_uring (hidden by seccomp, or not built) in kernel", kernel);
    case EINVAL: return old_kernel(EINVAL, "io_uring lacks what is needed in kernel", kernel);
    default: return error::system(errno_value, "io_uring_setup");
  }
}

status uring::open(const reactor_options& options, reactor_features& features) {
  features.backend = "io_uring";
  features.kernel = kernel_release();
  int failed = EINVAL;
  for (const setup_step& step : steps) {
    if (*step.lost != '\0') note_fallback(features, step.lost);
    if ((step.disabled_by & options.disable) != 0) continue;
    io_uring_params parameters{};
    parameters.flags = step.flags;
    parameters.cq_entries = options.completion_entries;
    failed = -io_uring_queue_init_params(options.submission_entries, &ring_, &parameters);
    if (failed == 0) break;
    if (failed != EINVAL) return setup_failure(failed, features.kernel);
  }
  if (failed != 0) return setup_failure(failed, features.kernel);
  open_ = true;
  if ((ring_.features & needed_features) != needed_features) return setup_failure(EINVAL, features.kernel);
  features.defer_taskrun = (ring_.flags & IORING_SETUP_DEFER_TASKRUN) != 0;
  features.single_issuer = (ring_.flags & IORING_SETUP_SINGLE_ISSUER) != 0;
  features.registered_ring_fd =
      (options.disable & reactor_disable::registered_ring_fd) == 0 && io_uring_register_ring_fd(&ring_) == 1;
  if (!features.registered_ring_fd)
    note_fallback(features, "the ring's descriptor is not registered (kernel 5.18)");
  return check_operations(ring_, features.kernel);
}

status check_operations(io_uring& ring, std::string_view kernel) {
  const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(io_uring_get_probe_ring(&ring),
                                                                         &io_uring_free_probe);
  if (probe == nullptr) return setup_failure(EINVAL, kernel);
  for (const needed_operation& operation : needed_operations) {
    if (io_uring_opcode_supported(probe.get(), operation.code) != 0) continue;
    return make_error(errc::unsupported,
                      "io_uring lacks {} (kernel {}) in kernel {:.20}: 6.1 or later is needed",
                      operation.name, operation.kernel, kernel);
  }
  return {};
}

bool probe_multishot_accept(io_uring& ring, int other_fd) noexcept {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring);
  if (sqe == nullptr) return false;
  io_uring_prep_multishot_accept(sqe, other_fd, nullptr, nullptr, SOCK_CLOEXEC);
  return complains_of_no_socket(ring, *sqe);
}

bool probe_multishot_receive_message(io_uring& ring, int other_fd) noexcept {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring);
  if (sqe == nullptr) return false;
  msghdr message{};
  io_uring_prep_recvmsg_multishot(sqe, other_fd, &message, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  return complains_of_no_socket(ring, *sqe);
}

void note_fallback(reactor_features& features, std::string_view note) {
  if (!features.notes.empty()) features.notes += '\n';
  features.notes += note;
}

void announce_fallbacks(const reactor_features& features) noexcept {
  static std::atomic_flag announced;
  if (features.notes.empty() || announced.test_and_set()) return;
  std::fprintf(stderr, "scoll: io_uring on kernel %s with fallbacks:\n%s\n", features.kernel.c_str(),
               features.notes.c_str());
}

}  // namespace scoll::transport
