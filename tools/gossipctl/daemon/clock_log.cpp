#include "clock_log.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <iterator>

namespace gossipctl {
namespace {

using scoll::gossip::log_level;

spdlog::level::level_enum level_of(log_level level) noexcept {
  switch (level) {
    case log_level::error: return spdlog::level::err;
    case log_level::warning: return spdlog::level::warn;
    case log_level::info: return spdlog::level::info;
    case log_level::debug: return spdlog::level::debug;
  }
  return spdlog::level::info;
}

}  // namespace

log_level clock_log::most() const noexcept {
  for (const log_level level : {log_level::debug, log_level::info, log_level::warning}) {
    if (to_->should_log(level_of(level))) return level;
  }
  return log_level::error;
}

void clock_log::on_log(log_level level, std::uint64_t clock, std::uint64_t remote_clock,
                       std::string_view text) noexcept {
  const auto at = level_of(level);
  if (remote_clock == no_clock) {
    to_->log(at, "c{} {}", clock, text);
  } else {
    to_->log(at, "c{} m{} {}", clock, remote_clock, text);
  }
}

std::shared_ptr<spdlog::logger> open_log(const std::string& file, const std::string& level) {
  auto log = file.empty() ? spdlog::stderr_logger_st("gossip") : spdlog::basic_logger_st("gossip", file);
  log->set_level(spdlog::level::from_str(level));
  log->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  log->flush_on(spdlog::level::info);
  return log;
}

}  // namespace gossipctl
