#pragma once

#include <spdlog/spdlog.h>

#include <optional>
#include <string_view>

#include "scoll/log.hpp"

namespace scoll::kit {

/// Writes the log lines of a node to spdlog's default logger, down to a level (the setting `log.level`).
class spdlog_sink final : public log_sink {
 public:
  /// `most` is the least important level that is written; without one, nothing is.
  explicit spdlog_sink(std::optional<log_level> most) : most_(most) {
    if (most_ && *most_ == log_level::debug) spdlog::set_level(spdlog::level::debug);
  }

  void log(log_level level, std::string_view text) noexcept override {
    if (most_ && level <= *most_) spdlog::log(level_of(level), text);
  }

 private:
  static spdlog::level::level_enum level_of(log_level level) noexcept {
    switch (level) {
      case log_level::error: return spdlog::level::err;
      case log_level::warning: return spdlog::level::warn;
      case log_level::info: return spdlog::level::info;
      case log_level::debug: return spdlog::level::debug;
    }
    return spdlog::level::info;
  }

  std::optional<log_level> most_;
};

}  // namespace scoll::kit
