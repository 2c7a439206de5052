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

std::string name_of(const row& where) {
  std::string name;
  for (const auto& [key, value] : where.items())
    name +=
        (name.empty() ? "" : " ") + (value.is_string() ? value.get<std::string>() : key + "=" + value.dump());
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
    const std::string name = name_of(limit.at("where"));
    bool found = false;
    for (const row& r : measured) {
      if (!means(limit.at("where"), r) || !r.contains(field)) continue;
      found = true;
      ++compared;
      const double value = r.at(field).get<double>();
      const bool above = value > most;
      exceeded += above;
      text += fmt::format("{:<9} {:<40} {:<20} {:>9.3f}  at most {:.3f}\n", above ? "ABOVE" : "ok", name,
                          field, value, most);
    }
    if (!found) text += fmt::format("{:<9} {:<40} {}\n", "no row", name, field);
  }
  text += fmt::format("{} compared, {} above their limit\n", compared, exceeded);
  std::fputs(text.c_str(), stdout);
  return compared != 0 && exceeded == 0;
}

}  // namespace bench
