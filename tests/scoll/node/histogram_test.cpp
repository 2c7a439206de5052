#include <chrono>

#include "scoll/latency_histogram.hpp"
#include "scoll/node_control/metrics.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/node/metrics_parser.hpp"

using namespace scoll;
using namespace std::chrono_literals;

TEST_CASE("a histogram counts each duration in the first bucket that holds it") {
  latency_histogram h;
  CHECK(h.total() == 0);
  CHECK(h.quantile(0.99) == 0ns);
  CHECK(latency_histogram::bounds.front() == 1us);
  CHECK(latency_histogram::bounds.back() == 10s);
  for (const nanoseconds bound : latency_histogram::bounds) h.add(bound);
  for (std::size_t i = 0; i < latency_histogram::bounds.size(); ++i) CHECK(h.count(i) == 1);
  h.add(0ns);
  h.add(1001ns);
  h.add(1h);
  CHECK(h.count(0) == 2);
  CHECK(h.count(1) == 2);
  CHECK(h.count(latency_histogram::bounds.size()) == 1);
  CHECK(h.total() == latency_histogram::bounds.size() + 3);
}

TEST_CASE("a quantile is the bound of a bucket that most durations lie below") {
  latency_histogram h;
  for (int i = 0; i < 98; ++i) h.add(3us);
  h.add(30ms);
  h.add(1min);
  CHECK(h.quantile(0.5) == 5us);
  CHECK(h.quantile(0.98) == 5us);
  CHECK(h.quantile(0.99) == 50ms);
  CHECK(h.quantile(1) == 10s);
  CHECK(h.sum() == 98 * 3us + 30ms + 1min);
}

TEST_CASE("the metrics of functions are valid, whatever their names are") {
  function_snapshot odd;
  odd.name = "a \"quoted\\\" name\nof two lines";
  odd.calls = 3;
  odd.failures = 1;
  odd.latency.add(2us);
  odd.latency.add(3us);
  odd.latency.add(1min);
  function_snapshot plain;
  plain.name = "plain";
  scoll::detail::metrics_text to;
  scoll::detail::write_functions(to, {odd, plain});
  const auto series = test::parse_metrics(to.take());
  const std::string name = R"(function="a \"quoted\\\" name\nof two lines")";
  CHECK(series.at("scoll_function_calls_total{" + name + "}") == 3);
  CHECK(series.at("scoll_function_failures_total{" + name + "}") == 1);
  CHECK(series.at("scoll_function_seconds_bucket{" + name + ",le=\"2e-06\"}") == 1);
  CHECK(series.at("scoll_function_seconds_bucket{" + name + ",le=\"5e-06\"}") == 2);
  CHECK(series.at("scoll_function_seconds_bucket{" + name + ",le=\"10\"}") == 2);
  CHECK(series.at("scoll_function_seconds_bucket{" + name + ",le=\"+Inf\"}") == 3);
  CHECK(series.at("scoll_function_seconds_count{" + name + "}") == 3);
  CHECK(series.at("scoll_function_seconds_sum{" + name + "}") > 60);
  CHECK(series.at("scoll_function_calls_total{function=\"plain\"}") == 0);
}
