#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "asking.hpp"
#include "run.hpp"
#include "text.hpp"

// The commands about groups as such: layout, pools, maintenance, epochs, clients and revoke.
namespace shard::ctl {

using nlohmann::json;

int layout(const arguments& args) {
  json command = command_of("layout", args);
  command["slots"] = args.slots;
  command["delayed"] = args.delayed;
  command["inline_only"] = args.inline_only;
  return ask(args, command);
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
  json command = command_of("maintenance", args);
  command["step"] = args.step;
  command["note"] = args.text;
  return ask(args, command);
}

int leader(const arguments& args) {
  json command = command_of("leader", args);
  command["again"] = args.again;
  return ask(args, command);
}

int commit(const arguments& args) {
  json command = command_of("commit", args);
  command["note"] = args.text;
  return ask(args, command);
}

int evict(const arguments& args) {
  json command = command_of("evict", args);
  command["client"] = args.client;
  command["note"] = args.text;
  return ask(args, command);
}

int admit(const arguments& args) {
  json command = command_of("admit", args);
  command["client"] = args.client;
  return ask(args, command);
}

int revoke(const arguments& args) {
  json command = command_of("revoke", args);
  command["code"] = args.code;
  command["text"] = args.text;
  return ask(args, command);
}

}  // namespace shard::ctl
