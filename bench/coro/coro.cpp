#include "coro.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "bench/kit/clock.hpp"
#include "tests/support/allocation_counter.hpp"

namespace bench::coro {
namespace {

using deed = void (layer::*)(std::uint32_t);

/// A coroutine layer in this process. One operation is too short for a clock, so 1,000 are timed together.
class in_process final : public contestant {
 public:
  static constexpr std::uint32_t together = 1000;

  in_process(std::unique_ptr<layer> does, deed what)
      : layer_(std::move(does)), deed_(what), meter_(getpid()) {}

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    const std::size_t before = allocation_counter::on_this_thread();
    for (std::uint32_t i = 0; i < operations; i += together) {
      const std::int64_t began = now_ns();
      (*layer_.*deed_)(together);
      latency_us.push_back(static_cast<double>(now_ns() - began) / 1e3 / together);
    }
    allocations_ += allocation_counter::on_this_thread() - before;
  }
  std::vector<usage> used() const override {
    usage u = meter_.read();
    u.allocations = static_cast<double>(allocations_);
    return {u};
  }

 private:
  std::unique_ptr<layer> layer_;
  deed deed_;
  process_meter meter_;
  std::size_t allocations_ = 0;
};

row to_row(const char* what, const score& s) {
  const auto ns = [](double us) { return std::round(us * 1e5) / 100; };
  row r;
  r["bench"] = "coro";
  r["subject"] = s.subject;
  r["case"] = what;
  r["p50_ns"] = ns(s.p50());
  r["p99_ns"] = ns(s.p99());
  r["cpu_ns_per_op"] = ns(s.total.cpu_us);
  r["allocs_per_op"] = s.total.allocations;
  return r;
}

rows run_one(const bench::options& o, const char* what, deed does) {
  constexpr std::uint32_t usual_operations = 100'000;
  std::vector<subject> subjects;
  const auto add = [&](const char* name, std::unique_ptr<layer> made) {
    if (made != nullptr) subjects.push_back({name, std::make_unique<in_process>(std::move(made), does)});
  };
  add("scoll", make_scoll());
  add("asio", make_asio());
  add("asio (A/A)", make_asio());
  contest_options c = o.contest(usual_operations, fmt::format("coro, {}", what));
  c.operations = std::max(c.operations / in_process::together, 1U) * in_process::together;
  c.warm_up = in_process::together;
  const auto scores = hold(subjects, c);
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row r = to_row(what, scores[i]);
    if (i != 1 && scores.size() > 1) add_ratios(r, scores[i], scores[1]);
    found.push_back(std::move(r));
  }
  return found;
}

}  // namespace

rows run(const bench::options& o) {
  static const std::vector<column> columns{
      {"case", "case", 0, 8},        {"subject", "subject", 0, 12},  {"p50_ns", "p50 ns"},
      {"p99_ns", "p99 ns"},          {"cpu_ns_per_op", "CPU ns/op"}, {"allocs_per_op", "allocs", 3},
      {"p50_ratio", "p50 ratio", 2}, {"p50_ratio_low", "low", 2, 6}, {"p50_ratio_high", "high", 2, 6}};
  rows all;
  const auto add = [&](const char* what, deed does) {
    const rows found = run_one(o, what, does);
    all.insert(all.end(), found.begin(), found.end());
  };
  add("switch", &layer::switches);
  add("child", &layer::children);
  add("queue", &layer::queue);
  add("timer", &layer::timers);
  show_progress("");
  const bool alone = make_asio() == nullptr;
  print_table(alone ? "coro (Asio was not found when this was built: apt install libasio-dev)"
                    : "coro; ratios to asio",
              columns, all);
  return all;
}

}  // namespace bench::coro
