#include "compile.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <stdexcept>

namespace bench::compile {
namespace {

constexpr const char* umbrella = "scoll/scoll.hpp";

/// Returns the ms of CPU time to compile a file that includes this header, or an empty file if the name is
/// empty.
double compile_once(const std::string& header) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    constexpr const char* headers = "-I" SCOLL_BENCH_INCLUDE;
    std::vector<const char*> words{SCOLL_BENCH_COMPILER, "-std=c++20", "-O2", headers, "-c", "-o",
                                   "/dev/null",          "-x",         "c++"};
    if (!header.empty()) words.insert(words.end(), {"-include", header.c_str()});
    words.insert(words.end(), {"/dev/null", nullptr});
    execvp(words[0], const_cast<char* const*>(words.data()));
    _exit(127);
  }
  int status = 0;
  rusage used{};
  if (wait4(child, &status, 0, &used) != child || status != 0)
    throw std::runtime_error("the compiler failed on " + header);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(used.ru_utime) + ms(used.ru_stime);
}

std::vector<std::string> public_headers() {
  const std::filesystem::path root = SCOLL_BENCH_INCLUDE;
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() == ".hpp") names.push_back(entry.path().lexically_relative(root).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

row measure(const std::string& header, std::uint32_t times) {
  std::vector<double> with, empty;
  for (std::uint32_t i = 0; i < times; ++i) {
    empty.push_back(compile_once({}));
    with.push_back(compile_once(header));
  }
  const auto whole = [](double ms) { return std::round(ms * 10) / 10; };
  row r;
  r["bench"] = "compile";
  r["subject"] = header;
  r["cpu_ms"] = whole(median(with));
  r["over_empty_ms"] = whole(median(with) - median(empty));
  return r;
}

}  // namespace

rows run(const bench::options& o) {
  constexpr std::uint32_t umbrella_times = 9, header_times = 3;
  rows all;
  show_progress("compile: the umbrella");
  all.push_back(measure(umbrella, o.quick ? 1 : umbrella_times));
  if (!o.quick) {
    for (const std::string& name : public_headers()) {
      show_progress("compile: " + name);
      if (name != umbrella) all.push_back(measure(name, header_times));
    }
    std::sort(all.begin(), all.end(), [](const row& a, const row& b) { return a["cpu_ms"] > b["cpu_ms"]; });
  }
  show_progress("");
  static const std::vector<column> columns{
      {"subject", "header", 0, 40}, {"cpu_ms", "CPU ms"}, {"over_empty_ms", "above empty", 1, 12}};
  print_table("compile, each header alone, " SCOLL_BENCH_COMPILER " -O2", columns, all);
  return all;
}

}  // namespace bench::compile
