#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "member.hpp"
#include "usage.hpp"

namespace bench {

/// What an order gave.
struct answer {
  std::span<const std::uint32_t> latency_ns;
  std::span<const std::uint32_t> last_reached_ns;  ///< of orders with `trace`
};

/// Processes that are measured: forked here, driven by orders to the first of them. They die with this
/// object, with this process, and by themselves after half an hour.
class processes {
 public:
  /// Each runs `body`, which ends when there are no more orders or never; a message for people goes to stderr
  /// if it throws. Returns when all are ready; throws if they are not within 30 seconds.
  /// `name` is what top and perf call them.
  processes(const std::string& name, std::uint32_t count, const std::function<void(member&)>& body);
  ~processes();
  processes(const processes&) = delete;
  processes& operator=(const processes&) = delete;

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(pids_.size()); }
  /// Has it done. Throws when a process dies meanwhile, or after two minutes. The answer lives until the next
  /// order.
  answer obey(const order& o);
  /// Of each process, since its start.
  std::vector<usage> used() const;

 private:
  void check_alive() const;
  template <class Condition>
  void wait_for(int seconds, const char* what, Condition done);

  member_page* pages_ = nullptr;
  report_page* report_ = nullptr;
  int orders_ = -1;
  std::vector<pid_t> pids_;
  std::vector<process_meter> meters_;
};

}  // namespace bench
