#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "choose.hpp"
#include "key_file.hpp"
#include "run.hpp"
#include "transport/security/key_ring.hpp"

namespace gossipctl {
namespace {

namespace fs = std::filesystem;

fs::path file_of(const arguments& args) {
  if (!args.key_file.empty()) return args.key_file;
  const config c = need_config(args);
  if (c.key_file.empty())
    throw usage_error(fmt::format("{} names no key_file; --file says which", args.config));
  return c.key_file;
}

std::size_t position_of(const std::vector<std::string>& keys, const std::string& id) {
  for (std::size_t i = 0; i != keys.size(); ++i)
    if (key_id(keys[i]) == id) return i;
  throw usage_error(fmt::format("there is no key {}; `gossipctl keys list` names them", id));
}

void save(const fs::path& file, const std::vector<std::string>& keys) {
  if (const std::string wrong = write_keys(file, keys); !wrong.empty()) throw usage_error(wrong);
}

int show(const fs::path& file, const std::vector<std::string>& keys, const arguments& args) {
  json ids = json::array();
  for (const std::string& key : keys) ids.push_back(key_id(key));
  if (args.as_json) {
    json j;
    j["file"] = file.string();
    j["keys"] = ids;
    fmt::print("{}\n", j.dump());
    return all_well;
  }
  for (std::size_t i = 0; i != ids.size(); ++i)
    fmt::print("{}  {}\n", ids[i].get<std::string>(), i == 0 ? "seals and opens" : "opens");
  return all_well;
}

/// Asks every daemon of this host, or the one of --self.
int reload(const arguments& args) {
  const config c = need_config(args);
  unsigned asked = 0;
  int code = all_well;
  for (const participant_index who : own_participants(c, args)) {
    auto daemon = scoll::transport::control_client::connect(place(c, who).control());
    if (!daemon) continue;
    ++asked;
    const auto said = ask(*daemon, {{"command", "reload_keys"}}, args.wait_s);
    const bool well = said && said->value("ok", false);
    const std::string text = !said ? "no answer" : well ? (*said)["value"] : (*said)["error"];
    if (!well) code = failed;
    if (!well || !args.as_json) fmt::print(well ? stdout : stderr, "{}: {}\n", c.shared->address(who), text);
  }
  if (args.as_json) fmt::print("{}\n", json{{"daemons", asked}, {"reloaded", code == all_well}}.dump());
  if (asked != 0) return code;
  fmt::print(stderr, "no daemon answers\n");
  return no_daemon;
}

}  // namespace

int keys(const arguments& args) {
  if (args.keys_action == "reload") return reload(args);
  const fs::path file = file_of(args);
  if (args.keys_action == "new") {
    if (fs::exists(file) && !args.force)
      throw usage_error(fmt::format("{} exists already; --force replaces it", file.string()));
    const std::vector<std::string> made{args.key.empty() ? random_key() : args.key};
    static_cast<void>(key_id(made.front()));
    save(file, made);
    return show(file, made, args);
  }
  auto all = read_keys(file);
  if (args.keys_action == "add") {
    const std::string key = args.key.empty() ? random_key() : args.key;
    const std::string id = key_id(key);
    if (std::any_of(all.begin(), all.end(), [&](const std::string& k) { return key_id(k) == id; }))
      throw usage_error(fmt::format("the key {} is there already", id));
    if (all.size() == scoll::transport::key_ring::most_keys)
      throw usage_error("drop a key first: the ring is full");
    all.push_back(key);
    save(file, all);
  } else if (args.keys_action == "promote") {
    const auto at = all.begin() + static_cast<std::ptrdiff_t>(position_of(all, args.key));
    std::rotate(all.begin(), at, at + 1);
    save(file, all);
  } else if (args.keys_action == "drop") {
    const std::size_t at = position_of(all, args.key);
    if (all.size() == 1) throw usage_error("this is the last key: add another one first");
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
    save(file, all);
  }
  return show(file, all, args);
}

}  // namespace gossipctl
