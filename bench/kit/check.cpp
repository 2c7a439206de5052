#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

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
  for (const char* const field : {"bench", "subject", "case", "op", "nodes", "size", "tree"}) {
    const auto at = r.find(field);
    if (at == r.end()) continue;
    name +=
        (name.empty() ? "" : " ") + (at->is_string() ? at->get<std::string>() : field + ("=" + at->dump()));
  }
  return name;
}

}  // namespace

bool check(const std::string& limits_file, const rows& measured) {
  std::ifstream in(limits_file);
  if (!in) throw std::runtime_error("cannot read " + limits_file);
  const row limits = row::parse(in);
  int compared = 0, exceeded = 0;
  std::string text = "\n# limits\n";
  for (const row& limit : limits) {
    const auto field = limit.at("field").get<std::string>();
    const double most = limit.at("at_most").get<double>();
    bool found = false;
    for (const row& r : measured) {
      if (!means(limit.at("where"), r) || !r.contains(field)) continue;
      found = true;
      ++compared;
      const double value = r.at(field).get<double>();
      const bool above = value > most;
      exceeded += above;
      text += fmt::format("{:<9} {:<40} {:<20} {:>9.3f}  at most {:.3f}\n", above ? "ABOVE" : "ok",
                          name_of(r), field, value, most);
    }
    if (!found) text += fmt::format("{:<9} {:<40} {}\n", "no row", name_of(limit.at("where")), field);
  }
  text += fmt::format("{} compared, {} above their limit\n", compared, exceeded);
  std::fputs(text.c_str(), stdout);
  return compared != 0 && exceeded == 0;
}

}  // namespace bench
