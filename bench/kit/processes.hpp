#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "group_memory.hpp"
#include "member.hpp"
#include "transport/io/socket.hpp"
#include "usage.hpp"

namespace bench {

/// The result of an order.
struct answer {
  std::span<const std::uint32_t> latency_ns;
  std::span<const std::uint32_t> last_reached_ns;  ///< for orders with `trace`
};

/// Processes that are measured, driven by orders to the first of them. They die with this object, with this
/// process, and by themselves after half an hour.
class processes {
 public:
  /// Forks the processes. Each runs `body`, which ends when there are no more orders or never; if it throws,
  /// the message goes to stderr. Returns when all are ready; throws if they are not within a minute. `name`
  /// is their name in top and perf.
  processes(const std::string& name, std::uint32_t count, const std::function<void(member&)>& body);
  /// Starts a program that brings the processes, as guests. Its arguments are the invitation, `count`, and
  /// then the elements of `program` after its path. It lives as long as the guests, and ends them when it
  /// dies or is told to end (SIGTERM).
  processes(const std::string& name, std::uint32_t count, const std::vector<std::string>& program);
  ~processes();
  processes(const processes&) = delete;
  processes& operator=(const processes&) = delete;

  /// Has the order carried out. Throws when a process dies meanwhile, or after two minutes. The answer is
  /// valid until the next order.
  answer obey(const order& o);
  /// Returns the resource usage of each process since its start.
  std::vector<usage> used() const;
  /// What the first process shows of itself, and what each does.
  const member_page& first() const noexcept { return memory_.pages().front(); }
  const member_page& page(std::uint32_t of) const noexcept { return memory_.pages()[of]; }
  /// Returns the ids of the forked processes.
  const std::vector<pid_t>& pids() const noexcept { return children_; }

 private:
  void count_guests();
  bool all_ready() const;
  void await_answer(int from, std::int64_t until_ns) const;
  void no_more_orders() noexcept;
  void let_guests_go() noexcept;
  void check_alive() const;
  [[noreturn]] void blame(const char* what) const;
  template <class Condition>
  void wait_for(int seconds, const char* what, Condition done);

  std::string name_;
  group_memory memory_;
  std::vector<scoll::transport::unique_fd> orders_;
  std::vector<pid_t> children_;                      ///< all processes, or the program that brings them
  std::vector<scoll::transport::unique_fd> guests_;  ///< by process descriptor
  std::vector<process_meter> meters_;
};

}  // namespace bench
