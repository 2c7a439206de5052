#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "asking.hpp"
#include "run.hpp"
#include "text.hpp"

// The commands about groups as such: layout, pools, maintenance, epochs, clients and revoke.
namespace shard::ctl {

using nlohmann::json;

int layout(const arguments& args) {
  return ask(
      args,
      command_of("layout", args,
                 {{"slots", args.slots}, {"delayed", args.delayed}, {"inline_only", args.inline_only}}));
}

int pools(const arguments& args) {
  const auto config = read_config(args);
  json list = json::array();
  for (const pool_config& each : config.pools)
    list.push_back({{"id", each.id}, {"name", each.name}, {"nodes", each.nodes}});
  if (args.as_json) {
    fmt::print("{}\n",
               json({{"pools", std::move(list)}}).dump(-1, ' ', false, json::error_handler_t::replace));
    return all_executed;
  }
  for (const pool_config& each : config.pools)
    fmt::print("pool {:<5} nodes {}{}{}\n", each.id, as_ranges(each.nodes), each.name.empty() ? "" : "  ",
               each.name);
  if (config.pools.empty()) fmt::print("{} has no [[pool]]\n", args.cluster);
  return all_executed;
}

int pool(const arguments& args) {
  const auto config = read_config(args);
  const pool_config* wanted = config.find_pool(args.pool);
  if (wanted == nullptr) throw usage_error(fmt::format("{}: there is no pool {}", args.cluster, args.pool));
  json command = command_of("pool", args);
  command["pool"] = args.pool;
  if (args.node) return ask(args, command);
  for (const scoll::node_id each : wanted->nodes) {
    if (!connect(config, each)) continue;
    arguments chosen = args;
    chosen.node = each;
    return ask(chosen, command);
  }
  return unreachable();
}

int maintenance(const arguments& args) {
  return ask(args, command_of("maintenance", args, {{"step", args.step}, {"note", args.text}}));
}

int leader(const arguments& args) {
  return ask(args, command_of("leader", args, {{"again", args.again}}));
}

int commit(const arguments& args) {
  return ask(args, command_of("commit", args, {{"note", args.text}}));
}

int evict(const arguments& args) {
  return ask(args, command_of("evict", args, {{"client", args.client}, {"note", args.text}}));
}

int admit(const arguments& args) {
  return ask(args, command_of("admit", args, {{"client", args.client}}));
}

int revoke(const arguments& args) {
  return ask(args, command_of("revoke", args, {{"code", args.code}, {"text", args.text}}));
}

}  // namespace shard::ctl
