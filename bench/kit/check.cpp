#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace bench {
namespace {

bool means(const row& where, const row& r) {
  const auto fields = where.items();
  return std::all_of(fields.begin(), fields.end(), [&](const auto& wanted) {
    const auto at = r.find(wanted.key());
    return at != r.end() && *at == wanted.value();
  });
}

std::string name_of(const row& r) {
  std::string name;
  for (const char* const field :
       {"bench", "subject", "case", "op", "nodes", "size", "tree", "asked", "quorum"}) {
    const auto at = r.find(field);
    if (at == r.end()) continue;
    name +=
        (name.empty() ? "" : " ") + (at->is_string() ? at->get<std::string>() : field + ("=" + at->dump()));
  }
  return name;
}

std::string line(const char* verdict, const row& of, const std::string& field, const std::string& rest) {
  return fmt::format("{:<10} {:<40} {:<20} {}\n", verdict, name_of(of), field, rest);
}

/// Describes doubts about the measurement: twins that should be equal differ.
std::string doubts(const rows& measured) {
  constexpr double tolerable = 0.1;
  std::string text;
  for (const row& r : measured) {
    if (!r.value("subject", "").ends_with("(A/A)")) continue;
    for (const char* const field : {"cpu_ratio", "p50_ratio"}) {
      const double value = r.value(field, 1.0);
      if (std::abs(value - 1) <= tolerable) continue;
      text += line("DOUBTFUL", r, field,
                   fmt::format("{:>9.3f}  of equals: measure again when nothing else runs", value));
    }
  }
  return text;
}

/// The options by which a benchmark measures what a limit is about, each with its value.
std::vector<std::pair<std::string, std::string>> options_for(const row& where) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [field, option] :
       {std::pair("nodes", "--nodes"), std::pair("size", "--size"), std::pair("tree", "--tree"),
        std::pair("op", "--op"), std::pair("case", "--case"), std::pair("asked", "--plan"),
        std::pair("beside", "--plan"), std::pair("quorum", "--quorum")}) {
    const auto at = where.find(field);
    if (at != where.end()) found.emplace_back(option, at->is_string() ? at->get<std::string>() : at->dump());
  }
  if (where.value("bench", "").ends_with("-loss")) found.emplace_back("--kills", "20");
  if (where.value("subject", "").starts_with("openmpi")) found.emplace_back("--peers", "");
  return found;
}

}  // namespace

std::string known_benchmarks::maker_of(std::string_view bench) const {
  std::string maker;
  for (const std::string& name : names) {
    const bool makes = bench == name || bench.starts_with(name + "-");
    if (makes && name.size() > maker.size()) maker = name;
  }
  return maker;
}

limits::limits(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read the limits in " + file);
  try {
    for (const row& each : row::parse(in)) {
      static_cast<void>(each.at("where").at("bench").get<std::string>());
      all_.push_back(
          {each.at("where"), each.at("field").get<std::string>(), each.at("at_most").get<double>()});
    }
  } catch (const row::exception& e) {
    throw std::runtime_error(file +
                             " has no array of limits (where with bench, field, at_most): " + e.what());
  }
}

void limits::print_commands(const known_benchmarks& all) const {
  for (const limit& l : all_) {
    const std::string maker = all.maker_of(l.where.value("bench", ""));
    std::string command = "./dev bench " + maker;
    for (const auto& [option, value] : options_for(l.where)) {
      if (all.has_option(maker, option)) command += " " + option + (value.empty() ? "" : " " + value);
    }
    fmt::print("{:<72} # {}: {} at most {}\n", command + " --check", name_of(l.where), l.field, l.at_most);
  }
}

bool limits::hold_for(const rows& measured, const std::string& ran, const known_benchmarks& all) const {
  int compared = 0, above = 0, missing = 0, unmeasured = 0;
  std::string text = "\n# limits\n";
  for (const limit& l : all_) {
    if (all.maker_of(l.where.value("bench", "")) != ran) continue;
    bool meant = false;
    for (const row& r : measured) {
      if (!means(l.where, r)) continue;
      meant = true;
      if (!r.contains(l.field)) {
        ++missing;
        text += line("no field", r, l.field, "");
        continue;
      }
      ++compared;
      const double value = r.at(l.field).get<double>();
      above += value > l.at_most;
      text += line(value > l.at_most ? "ABOVE" : "ok", r, l.field,
                   fmt::format("{:>9.3f}  at most {:.3f}", value, l.at_most));
    }
    unmeasured += !meant;
    if (!meant) text += line("unmeasured", l.where, l.field, "");
  }
  text += doubts(measured);
  text += fmt::format("{} compared, {} above their limit, {} without the figure, {} unmeasured\n", compared,
                      above, missing, unmeasured);
  std::fputs(text.c_str(), stdout);
  return compared != 0 && above == 0 && missing == 0;
}

}  // namespace bench
