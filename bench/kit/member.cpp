#include "member.hpp"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "clock.hpp"

namespace bench {
namespace {

std::uint32_t to_32(std::int64_t ns) noexcept {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ns, 0, UINT32_MAX));
}

}  // namespace

// Setup time is not measured, so polling every millisecond is good enough.
void member::publish(std::uint16_t port) {
  constexpr int tries = 20'000;
  page().port = port;
  const auto known = [](const member_page& p) { return p.port != 0; };
  for (int i = 0; !std::all_of(pages_.begin(), pages_.end(), known); ++i) {
    if (i == tries) throw std::runtime_error("other processes of the group have not started");
    usleep(1000);
  }
}

void member::stay_on_processor(std::uint32_t number) const {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
    throw std::system_error(errno, std::generic_category(), "asking for the processors of a process");
  std::size_t left = number % static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  std::size_t processor = 0;
  for (;; ++processor) {
    if (CPU_ISSET(processor, &allowed) && left-- == 0) break;
  }
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(processor, &own);
  if (sched_setaffinity(0, sizeof own, &own) != 0)
    throw std::system_error(errno, std::generic_category(), "keeping a process on a processor");
}

std::optional<order> member::next_order() {
  order next;
  ssize_t got = 0;
  do {
    got = recv(orders_, &next, sizeof next, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof next) return std::nullopt;
  return next;
}

void member::note(std::uint32_t i, std::int64_t began_ns, std::int64_t ended_ns) noexcept {
  if (index_ == 0 && i < report_page::capacity) report_.latency_ns[i] = to_32(ended_ns - began_ns);
}

void member::note_last_reached(std::uint32_t i, std::int64_t began_ns) noexcept {
  std::int64_t last = began_ns;
  for (const member_page& p : pages_) last = std::max(last, p.reached_ns.load());
  if (i < report_page::capacity) report_.last_reached_ns[i] = to_32(last - began_ns);
}

void member::done(std::uint32_t operations) {
  if (index_ == 0) report_.count = std::min(operations, report_page::capacity);
  const char finished = 0;
  if (send(orders_, &finished, 1, MSG_NOSIGNAL) != 1)
    throw std::system_error(errno, std::generic_category(), "telling that an order is done");
}

void member::give_up(const std::string& why) const noexcept {
  if (!report_.over) std::fprintf(stderr, "scoll-bench: process %u of a group: %s\n", index_, why.c_str());
  _exit(3);
}

void member::serve(const std::function<void()>& operation, const std::function<void()>& prepare) {
  while (const auto next = next_order()) {
    if (prepare) prepare();
    for (std::uint32_t i = 0; i < next->operations; ++i) {
      const std::int64_t began = now_ns();
      operation();
      note(i, began, now_ns());
      if (next->trace != 0) note_last_reached(i, began);
    }
    done(next->operations);
  }
}

}  // namespace bench
