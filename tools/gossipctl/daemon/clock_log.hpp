#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <string>

#include "gossip/log.hpp"

namespace gossipctl {

/// Writes log lines of the gossip to spdlog. Each begins with this participant's cluster clock and, if it is
/// about a message, with the clock of its sender: "c1234 m1233 ...".
class clock_log final : public scoll::gossip::log_sink {
 public:
  explicit clock_log(std::shared_ptr<spdlog::logger> to) : to_(std::move(to)) {}

  scoll::gossip::log_level most() const noexcept override;
  void on_log(scoll::gossip::log_level level, std::uint64_t clock, std::uint64_t remote_clock,
              std::string_view text) noexcept override;

 private:
  std::shared_ptr<spdlog::logger> to_;
};

/// Returns a logger to a file, or to stderr if `file` is empty, that logs from `level` ("error" to "debug")
/// upwards.
std::shared_ptr<spdlog::logger> open_log(const std::string& file, const std::string& level);

}  // namespace gossipctl
