#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "asking.hpp"
#include "run.hpp"

namespace shard::ctl {
namespace {

void write_chrome(const nlohmann::json& events, const std::string& file) {
  std::ofstream out(file);
  out << events.dump(1) << '\n';
  out.close();
  if (!out) throw usage_error(fmt::format("{}: the trace cannot be written there", file));
}

}  // namespace

int trace(const arguments& args) {
  const auto config = read_config(args);
  auto server = connect(config, args.node);
  if (!server) return unreachable();
  const auto command = command_of("trace", args);
  const auto answer = converse(*server, command, progress_of(args), silence_of(command, config));
  const bool told = answer && (*answer)["value"].contains("chrome");
  if (told && !args.chrome.empty()) write_chrome((*answer)["value"]["chrome"], args.chrome);
  return show(answer, args);
}

}  // namespace shard::ctl
