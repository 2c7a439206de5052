#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace scoll::detail {

/// Writes Prometheus' text format, version 0.0.4. Every metric is described once, before its samples.
class metrics_text {
 public:
  /// Begins a metric. `type` is "counter", "gauge" or "histogram".
  void describe(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(out(), "# HELP scoll_{0} {2}\n# TYPE scoll_{0} {1}\n", name, type, help);
  }
  /// Adds a sample of the metric that was described last. `labels` is empty or a list such as `peer="2"`,
  /// whose values are `quoted`.
  template <class Value>
  void sample(std::string_view name, std::string_view labels, Value value) {
    if (labels.empty()) {
      fmt::format_to(out(), "scoll_{} {}\n", name, value);
    } else {
      fmt::format_to(out(), "scoll_{}{{{}}} {}\n", name, labels, value);
    }
  }
  void counter(std::string_view name, std::uint64_t value, std::string_view help) {
    const std::string full = fmt::format("{}_total", name);
    describe(full, "counter", help);
    sample(full, "", value);
  }
  template <class Value>
  void gauge(std::string_view name, Value value, std::string_view help) {
    describe(name, "gauge", help);
    sample(name, "", value);
  }

  /// A label's value with its quotation marks: backslashes, quotation marks and newlines are escaped.
  static std::string quoted(std::string_view text) {
    std::string made = "\"";
    for (const char c : text) {
      if (c == '\\' || c == '"') made += '\\';
      if (c == '\n') {
        made += "\\n";
      } else {
        made += c;
      }
    }
    return made + '"';
  }

  std::string take() { return std::move(text_); }

 private:
  std::back_insert_iterator<std::string> out() { return std::back_inserter(text_); }
  std::string text_;
};

}  // namespace scoll::detail
