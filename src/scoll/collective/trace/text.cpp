#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/collective/trace.hpp"

namespace scoll {

const trace_span* collective_trace::find(std::uint32_t rank) const noexcept {
  const auto at = std::ranges::find(spans_, rank, &trace_span::rank);
  return at == spans_.end() ? nullptr : &*at;
}

last_arrival collective_trace::last() const noexcept {
  const auto at = std::ranges::max_element(spans_, {}, &trace_span::arrived);
  return at == spans_.end() ? last_arrival{} : last_arrival{at->rank, at->arrived, at->error};
}

namespace {

constexpr std::size_t columns = 100;
constexpr std::uint32_t most_indented = 8;

/// The unit of all times in a text.
struct time_unit {
  std::string_view name;
  double ns;
  int digits;

  static time_unit for_times_up_to(nanoseconds longest) noexcept {
    if (longest < std::chrono::milliseconds(10)) return {"us", 1e3, 1};
    if (longest < std::chrono::seconds(10)) return {"ms", 1e6, 3};
    return {"s", 1e9, 3};
  }
  std::string operator()(nanoseconds t) const {
    return fmt::format("{:.{}f}", static_cast<double>(t.count()) / ns, digits);
  }
};

class timeline {
 public:
  explicit timeline(const collective_trace& trace)
      : trace_(trace), unit_(time_unit::for_times_up_to(trace.took())) {
    for (const trace_span& s : trace.spans()) {
      placed_.push_back(s.rank);
      rank_width_ = std::max(rank_width_, name_of(s.rank, s.level).size());
      node_width_ = std::max(node_width_, fmt::formatted_size("{}", s.node));
      for (const trace_link& c : s.children) {
        rank_width_ = std::max(rank_width_, name_of(c.rank, s.level + 1).size());
        node_width_ = std::max(node_width_, fmt::formatted_size("{}", c.node));
      }
    }
    std::ranges::sort(placed_);
    const std::size_t before = row("", "", "", "", "").size();
    bar_width_ = columns > before + 20 ? columns - before - 2 : 20;
  }

  std::string text() const {
    const last_arrival last = trace_.last();
    std::string all = fmt::format("{} members over {} in {} {}; rank {} had the request last, at {} +- {}\n",
                                  trace_.members(), to_string(trace_.tree()), unit_(trace_.took()),
                                  unit_.name, last.rank, unit_(last.at), unit_(last.error));
    if (trace_.dropped() != 0)
      all += fmt::format("the stamps of {} members found no room in the answers\n", trace_.dropped());
    all += row("rank", "node", fmt::format("at/{}", unit_.name), "+-", "took");
    all += fmt::format("|{:<{}}|\n", "p prepares  = executes  . awaits", bar_width_);
    for (const trace_span& s : trace_.spans()) add(all, s);
    return all;
  }

 private:
  static std::string name_of(std::uint32_t rank, std::uint32_t level) {
    const bool deep = level > most_indented;
    return fmt::format("{:{}}{}{}", "", std::min(level, most_indented), deep ? "+" : "", rank);
  }

  std::string row(std::string_view rank, std::string_view node, std::string_view at, std::string_view error,
                  std::string_view took) const {
    return fmt::format("{:<{}} {:>{}} {:>9} {:>8} {:>9} ", rank, rank_width_, node, node_width_, at, error,
                       took);
  }

  void add(std::string& all, const trace_span& s) const {
    all += row(name_of(s.rank, s.level), fmt::format("{}", s.node), unit_(s.arrived), unit_(s.error),
               unit_(s.answered - s.arrived));
    all += fmt::format("|{}|\n", bar(s));
    for (const trace_link& c : s.children) {
      if (!std::ranges::binary_search(placed_, c.rank)) add_silent(all, c, s.level + 1);
    }
  }

  /// A child of which nothing is known but what its parent has seen.
  void add_silent(std::string& all, const trace_link& c, std::uint32_t level) const {
    all += row(name_of(c.rank, level), fmt::format("{}", c.node), unit_(c.sent), "", "");
    all += c.answered ? fmt::format(" answered at {}, without stamps\n", unit_(*c.answered))
                      : std::string(" sent to, no answer\n");
  }

  std::size_t cell(nanoseconds t) const noexcept {
    const double share = static_cast<double>(t.count()) /
                         static_cast<double>(std::max<std::int64_t>(trace_.took().count(), 1));
    return std::min(static_cast<std::size_t>(std::max(share, 0.0) * static_cast<double>(bar_width_)),
                    bar_width_ - 1);
  }

  std::string bar(const trace_span& s) const {
    std::string cells(bar_width_, ' ');
    const auto fill = [&](nanoseconds from, nanoseconds to, bool with_last, char what) {
      for (std::size_t i = cell(from); i < cell(to) + with_last; ++i) cells[i] = what;
    };
    fill(s.arrived, s.answered, true, '.');
    if (s.prepared) fill(s.arrived, *s.prepared, false, 'p');
    if (s.begun) fill(*s.begun, s.ended.value_or(s.answered), true, '=');
    return cells;
  }

  const collective_trace& trace_;
  time_unit unit_;
  std::vector<std::uint32_t> placed_;  // ranks, ascending
  std::size_t rank_width_ = 4;
  std::size_t node_width_ = 4;
  std::size_t bar_width_ = 0;
};

}  // namespace

std::string to_text(const collective_trace& trace) {
  return trace.empty() ? "no trace\n" : timeline(trace).text();
}

}  // namespace scoll
