#include "plot.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>

namespace bench {
namespace {

std::string text_of(const row& r, const std::string& field) {
  if (!r.contains(field)) return {};
  return r[field].is_string() ? r[field].get<std::string>() : r[field].dump();
}

/// The figure that a point's height shows.
struct measure {
  const char* field;
  const char* dashed;  ///< a second line, if rows have it
  const char* unit;
  const char* name;  ///< of the picture; empty: latency
  bool logarithmic;
};

constexpr measure latency{"p50_us", "p99_us", "us", "", true};
constexpr std::array measures{latency, measure{"gib_per_s", "", "GiB/s", "rate", false},
                              measure{"ops_per_s", "", "calls per second", "rate", false},
                              measure{"operations_per_s", "", "broadcasts per second", "rate", false}};

/// One picture: each subject over `x`, for rows in which all other fields are equal.
struct picture {
  std::string bench, x, fixed;
  measure shown = latency;
  std::map<std::string, std::map<double, std::vector<double>>> lines;
};

const std::vector<std::string>& dimensions() {
  static const std::vector<std::string> all{"size", "nodes", "in_flight", "peers", "share", "cores"};
  return all;
}

/// A bare exchange appears in the picture of the call beside it, even if their lengths differ.
const row& value_of(const row& r, const std::string& field) {
  return r[field == "size" && r.contains("call_size") ? "call_size" : field];
}

std::string what_is_fixed(const row& r, const std::string& x) {
  std::string fixed;
  for (const std::string field : {"op", "size", "nodes", "tree", "in_flight", "peers", "share", "cores"}) {
    if (field == x || !r.contains(field)) continue;
    const bool names_itself = field == "tree" || field == "op";
    // All trees that were chosen share one picture, whatever their shape.
    const row& value = value_of(r, field == "tree" && r.contains("tree_choice") ? "tree_choice" : field);
    fixed += (fixed.empty() ? "" : ", ") + (names_itself ? "" : field + " ") +
             (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return fixed;
}

std::vector<picture> pictures_over(const rows& all, const std::string& x, const measure& shown) {
  std::map<std::string, picture> found;
  for (const row& r : all) {
    if (!r.contains(x) || !r.contains(shown.field)) continue;
    const std::string fixed = what_is_fixed(r, x);
    picture& p = found[text_of(r, "bench") + fixed];
    p.bench = text_of(r, "bench");
    p.x = x;
    p.fixed = fixed;
    p.shown = shown;
    std::string line = text_of(r, "subject");
    if (r.contains("asked")) line += ", " + text_of(r, "asked");
    // The best chunk of a plan differs from point to point.
    if (r.contains("chunk") && r["chunk"] != 0 && !r.contains("plan"))
      line += ", chunk " + text_of(r, "chunk");
    if (r.contains("depth") && r["depth"] != 0) line += ", depth " + text_of(r, "depth");
    std::vector<double>& heights = p.lines[line][value_of(r, x).get<double>()];
    heights = {r[shown.field].get<double>()};
    if (r.contains(shown.dashed)) heights.push_back(r[shown.dashed].get<double>());
  }
  std::vector<picture> worth_it;
  for (auto& [key, p] : found) {
    if (p.lines.begin()->second.size() > 1) worth_it.push_back(std::move(p));
  }
  return worth_it;
}

std::string as_file_name(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  name.erase(std::unique(name.begin(), name.end(), [](char a, char b) { return a == '-' && b == '-'; }),
             name.end());
  return name;
}

std::string file_name(const picture& p) {
  return as_file_name(p.bench + (*p.shown.name == '\0' ? "" : std::string(" ") + p.shown.name) + " over " +
                      p.x + (p.fixed.empty() ? "" : ", " + p.fixed));
}

/// Quotes text for gnuplot, in single quotes.
std::string quoted(std::string text) {
  for (auto at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2))
    text.insert(at, 1, '\'');
  return text;
}

std::string frame(const std::string& file, const std::string& title) {
  return fmt::format(
      "set terminal svg size 900,500 background '#ffffff'\nset output '{}.svg'\nset title \"{}\" noenhanced\n"
      "set ylabel 'us'\nset key outside right noenhanced\nset grid\nset logscale y\n",
      quoted(file), title);
}

/// Places values at equal distances, because sizes grow by factors and one is 0.
std::map<double, int> places_of(const picture& p) {
  std::map<double, int> places;
  for (const auto& [subject, points] : p.lines) {
    for (const auto& [at, heights] : points) places[at] = 0;
  }
  int next = 0;
  for (auto& [at, place] : places) place = next++;
  return places;
}

std::string script_of(const picture& p, const std::string& file) {
  const auto places = places_of(p);
  std::string script = frame(file, p.bench + (p.fixed.empty() ? "" : ": " + p.fixed)) +
                       fmt::format("set xlabel '{}' noenhanced\nset ylabel '{}'\n", p.x, p.shown.unit);
  if (!p.shown.logarithmic) script += "unset logscale y\nset yrange [0:*]\n";
  std::string tics;
  for (const auto& [at, place] : places)
    tics += fmt::format("{}'{}' {}", tics.empty() ? "" : ", ", at, place);
  script +=
      fmt::format("set xtics ({})\nset xrange [-0.2:{}]\n", tics, static_cast<double>(places.size()) - 0.8);
  std::string plots;
  int i = 0;
  for (const auto& [subject, points] : p.lines) {
    script += fmt::format("$d{} << end\n", i);
    for (const auto& [at, heights] : points)
      script += fmt::format("{} {}\n", places.at(at), fmt::join(heights, " "));
    script += "end\n";
    const bool two = points.begin()->second.size() > 1;
    plots += fmt::format("{}$d{} using 1:2 with linespoints lt {} title '{}{}'", i == 0 ? "plot " : ", ", i,
                         i + 1, subject, two ? " p50" : "");
    if (two)
      plots +=
          fmt::format(", $d{} using 1:3 with linespoints lt {} dashtype 2 title '{} p99'", i, i + 1, subject);
    ++i;
  }
  return script + plots + '\n';
}

/// Draws bars: subjects beside each other, one group per tree.
std::string script_of_trees(const rows& all, const std::string& file) {
  std::set<std::string> trees;
  std::map<std::string, std::string> data;
  for (const row& r : all) {
    if (!r.contains("tree") || text_of(r, "bench") != "bcast") continue;
    trees.insert(text_of(r, "tree"));
    data[text_of(r, "subject")] += fmt::format("'{}, {} B, {} nodes' {}\n", text_of(r, "tree"),
                                               text_of(r, "size"), text_of(r, "nodes"), text_of(r, "p50_us"));
  }
  if (trees.size() < 2) return {};
  std::string script =
      frame(file, "bcast: p50 by tree") +
      "set style data histogram\nset style fill solid 0.7\nset xtics rotate by -30 noenhanced\n";
  std::string plots;
  int i = 0;
  for (const auto& [subject, lines] : data) {
    script += fmt::format("$d{} << end\n{}end\n", i, lines);
    plots += fmt::format("{}$d{} using 2:xtic(1) title '{}'", i == 0 ? "plot " : ", ", i, subject);
    ++i;
  }
  return script + plots + '\n';
}

/// The fields that may give a bar its height; the label of a bar follows.
constexpr std::array bar_fields{"p50_us", "p50_ns", "over_empty_ms"};

std::string bar_label(const row& r) {
  std::string label = text_of(r, "subject");
  if (r.contains("case")) label = text_of(r, "case") + ", " + label;
  if (r.contains("asked")) label += ", " + text_of(r, "asked");
  return label;
}

/// Draws bars: subjects beside each other, for rows in which all else is equal.
std::map<std::string, std::string> scripts_of_subjects(const rows& all, const std::string& folder) {
  std::map<std::string, std::pair<std::string, std::string>> data;  // by picture: its unit, its bars
  for (const row& r : all) {
    const auto field =
        std::find_if(bar_fields.begin(), bar_fields.end(), [&](auto f) { return r.contains(f); });
    if (field == bar_fields.end()) continue;
    const std::string fixed = what_is_fixed(r, "");
    auto& [unit, bars] = data[text_of(r, "bench") + " by subject" + (fixed.empty() ? "" : ", " + fixed)];
    unit = std::string(*field).substr(std::string_view(*field).rfind('_') + 1);
    bars += fmt::format("\"{}\" {}\n", bar_label(r), text_of(r, *field));
  }
  std::map<std::string, std::string> scripts;
  for (const auto& [title, shown] : data) {
    if (std::count(shown.second.begin(), shown.second.end(), '\n') < 2) continue;
    const std::string file = folder + "/" + as_file_name(title);
    const char* const scale = shown.first == "ms" ? "unset logscale y\nset yrange [0:*]\n" : "";
    scripts[file] = frame(file, title) + scale +
                    fmt::format(
                        "set ylabel '{}'\nset style data histogram\nset style fill solid 0.7\n"
                        "set xtics rotate by -30 noenhanced\nunset key\n$d << end\n{}end\n"
                        "plot $d using 2:xtic(1)\n",
                        shown.first, shown.second);
  }
  return scripts;
}

bool draw(const std::string& script_file) {
  const pid_t child = fork();
  if (child == 0) {
    execlp("gnuplot", "gnuplot", script_file.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

void ensure_folder(const std::string& folder) {
  std::filesystem::create_directories(folder);
  if (access(folder.c_str(), W_OK) != 0) throw std::runtime_error("cannot write into the folder " + folder);
}

void plot(const std::string& folder, const rows& all) {
  ensure_folder(folder);
  std::map<std::string, std::string> scripts;
  for (const std::string& x : dimensions()) {
    for (const measure& shown : measures) {
      for (const picture& p : pictures_over(all, x, shown)) {
        const std::string file = folder + "/" + file_name(p);
        scripts[file] = script_of(p, file);
      }
    }
  }
  const std::string by_tree = folder + "/bcast-by-tree";
  if (const std::string script = script_of_trees(all, by_tree); !script.empty()) scripts[by_tree] = script;
  if (scripts.empty()) scripts = scripts_of_subjects(all, folder);
  if (scripts.empty()) std::puts("nothing to plot: one subject by itself");
  for (const auto& [file, script] : scripts) {
    std::ofstream(file + ".gp") << script;
    const char* const what =
        draw(file + ".gp") ? "plot: {}.svg\n" : "not drawn, is gnuplot installed? {}.gp\n";
    std::fputs(fmt::format(fmt::runtime(what), file).c_str(), stdout);
  }
}

}  // namespace bench
