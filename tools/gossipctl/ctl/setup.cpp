#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "choose.hpp"
#include "key_file.hpp"
#include "run.hpp"
#include "tools/gossipctl/cluster/config.hpp"
#include "tools/gossipctl/cluster/new_config.hpp"

namespace gossipctl {
namespace {

namespace fs = std::filesystem;

std::string list_of(const arguments& args) {
  if (args.local != 0) {
    const auto list = local_list(args.local);
    if (!list) throw usage_error(fmt::format("127.0.0.1 has no {} free ports", args.local));
    return *list;
  }
  std::string list;
  for (const std::string& each : args.participants) list += each + '\n';
  if (!args.participants_file.empty()) {
    const auto text = read_text(args.participants_file);
    if (!text) throw usage_error(fmt::format("{}: cannot be read", args.participants_file));
    list += *text;
  }
  if (list.empty()) throw usage_error("who takes part? give --participants, --participants-file or --local");
  return list;
}

/// Creates a key file with a new key unless the file exists.
void make_key(const fs::path& file) {
  if (fs::exists(file)) return;
  if (const std::string wrong = write_keys(file, {random_key()}); !wrong.empty()) throw usage_error(wrong);
}

}  // namespace

int init(const arguments& args) {
  if (!args.config_given) {
    throw usage_error(fmt::format(
        "init: where to? give --config FILE or set GOSSIPCTL_CONFIG; for a server, {}", args.config));
  }
  const fs::path file = args.config;
  new_config c;
  c.name = args.name;
  c.interval_ms = args.interval_ms;
  c.rtt_ms = args.rtt_ms;
  c.port = args.port;
  c.seed = args.seed;
  c.participants = list_of(args);
  c.directory = args.directory.empty() && args.local != 0 ? "run" : args.directory;
  c.key_file = args.key_file.empty() && args.with_key ? "gossip.keys" : args.key_file;
  if (const std::string wrong = write_config(file, c, args.force); !wrong.empty()) throw usage_error(wrong);
  if (args.with_key) make_key(fs::absolute(file).parent_path() / c.key_file);
  const config made = need_config(args);
  if (args.as_json) {
    json j;
    j["file"] = file.string();
    j["participants"] = made.shared->size();
    j["key_file"] = made.key_file.empty() ? json() : json(made.key_file.string());
    fmt::print("{}\n", j.dump());
  } else {
    fmt::print("{}: {} participants, {} to {}\n", file.string(), made.shared->size(), made.shared->address(0),
               made.shared->address(made.shared->size() - 1));
    if (args.with_key) fmt::print("{}: copy it to every server, mode 0600\n", made.key_file.string());
  }
  return all_well;
}

}  // namespace gossipctl
