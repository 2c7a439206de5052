#include "human.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text.hpp"

namespace shard {
namespace {

using nlohmann::json;

std::uint64_t number(const json& value, const char* key) {
  return value.value(key, std::uint64_t{0});
}

void row(std::string_view name, const std::string& text) {
  fmt::print("{:<20}{}\n", name, text);
}

// ---- values

void print_df(const json& value) {
  row("objects", with_commas(number(value, "objects")));
  row("bytes", as_size(number(value, "bytes")));
  std::uint64_t capacity = 0;
  std::uint64_t free = 0;
  for (const json& each : value["filesystems"]) {
    capacity += number(each, "capacity_bytes");
    free += number(each, "free_bytes");
  }
  row("file systems",
      fmt::format("{}, {} in all, {} free", value["filesystems"].size(), as_size(capacity), as_size(free)));
}

void print_scrub(const json& value) {
  row("objects", with_commas(number(value, "objects")));
  row("bytes", as_size(number(value, "bytes")));
  row("damaged", with_commas(number(value, "damaged")));
  for (const json& each : value["list"]) {
    fmt::print("  node {:<4} {}: {}\n", number(each, "node"), each.value("object", ""),
               each.value("fault", ""));
  }
  if (value.value("list_cut", false)) fmt::print("  ... the list was cut to what fits a reply\n");
}

void print_find(const json& value) {
  row("matches", with_commas(number(value, "matches")));
  for (const json& node : value["nodes"]) {
    for (const json& name : node["names"])
      fmt::print("  node {:<4} {}\n", number(node, "node"), name.get<std::string>());
    if (node.value("cut", false))
      fmt::print("  node {:<4} ... more: cut to what fits a reply\n", number(node, "node"));
  }
}

void print_top(const json& value) {
  for (const json& each : value["largest"]) {
    fmt::print("{:>12}  node {:<4} {}\n", as_size(number(each, "size")), number(each, "node"),
               each.value("object", ""));
  }
}

void print_ingest(const json& value) {
  row("copied",
      fmt::format("{} objects, {}", with_commas(number(value, "objects")), as_size(number(value, "bytes"))));
  if (number(value, "unreadable") != 0) row("unreadable", with_commas(number(value, "unreadable")));
  if (value.value("limit_reached", false)) row("limit", "reached: the rest of the folder was left out");
}

void print_install(const json& value) {
  row("installed", fmt::format("{}, {}, XXH3 {}", value.value("name", ""), as_size(number(value, "size")),
                               value.value("hash", "")));
  row("as", value.value("file", "") + " on the server that was asked, and likewise on the others");
  const double seconds = value.value("seconds", 0.0);
  const auto attempts = number(value, "attempts");
  row("sent", fmt::format("in {:.1f} s, {} each second to each server, {}", seconds,
                          as_size(static_cast<std::uint64_t>(static_cast<double>(number(value, "size")) /
                                                             std::max(seconds, 1e-3))),
                          attempts == 1 ? "at the first attempt" : fmt::format("in {} attempts", attempts)));
  if (value.contains("plan"))
    row("plan",
        fmt::format("{}, pieces of {}", value.value("plan", ""), as_size(number(value, "piece_bytes"))));
  if (!value.contains("servers")) return;
  row("on the disks of", fmt::format("{} servers, {}; their hash is {}", number(value, "servers"),
                                     as_size(number(value, "bytes")),
                                     fmt::join(value["hashes"].get<std::vector<std::string>>(), " and ")));
}

void print_plan(const json& value) {
  fmt::print("{}", value.value("text", ""));
  row("groups have", value.value("groups_have", ""));
}

void print_layout(const json& value) {
  row("members", with_commas(number(value, "members")));
  row("entities", with_commas(number(value, "entities")));
  row("digest", value.value("digest", ""));
  const bool delayed = value.value("populate", "") == "delayed";
  const std::string made =
      delayed ? "with the first question (delayed)" : "before the first question (immediate)";
  row("made", value.value("created", false) ? "now, " + made : "earlier, " + made);
  row("sent by the root", as_size(number(value, "sent_bytes")));
  row("objects", fmt::format("{} in {} slots, at most {} in one", with_commas(number(value, "objects")),
                             with_commas(number(value, "used")), with_commas(number(value, "fullest"))));
}

void print_pool(const json& value) {
  row("pool", std::to_string(number(value, "pool")));
  print_df(value);
}

void print_maintenance(const json& value) {
  if (!value.value("under_way", false)) {
    row("maintenance", "none is under way");
    if (value.contains("refused")) row("writes refused", with_commas(number(value, "refused")));
    return;
  }
  row("maintenance", fmt::format("begun by node {}: {}", number(value, "begun_by"), value.value("note", "")));
  if (!value.contains("leader")) return;
  row("leader", fmt::format("node {}, which stores {}, since term {}", number(value, "leader"),
                            as_size(number(value, "leader_bytes")), number(value, "term")));
  const auto without = value["without"].get<std::vector<std::uint64_t>>();
  if (!without.empty()) row("agreed without", as_ranges(without));
}

void print_epoch(const json& value) {
  const auto epoch = number(value, "epoch");
  if (epoch == 0) return row("epoch", "0: none was committed yet");
  row("epoch", fmt::format("{}: {}", with_commas(epoch), value.value("epoch_note", "")));
  row("asked for by", value.value("epoch_by", ""));
  if (value.contains("lowest") && number(value, "lowest") != epoch)
    row("behind", fmt::format("a server that stands at {}", with_commas(number(value, "lowest"))));
  if (value.value("open", false)) row("next", "is being voted for");
}

void print_ended(const json& value) {
  row("client", std::to_string(number(value, "client")));
  row("refused by", fmt::format("{} servers, their next lives too", number(value, "servers")));
  row("ended",
      fmt::format("{} uploads, {} calls", number(value, "uploads_ended"), number(value, "calls_ended")));
}

void print_admitted(const json& value) {
  row("client", std::to_string(number(value, "client")));
  row("admitted by", fmt::format("{} servers", number(value, "servers")));
}

void print_clients(const json& value) {
  if (value["clients"].empty()) row("clients", "none is evicted, and none has uploads under way");
  for (const json& each : value["clients"]) {
    const std::string note = each.value("note", "");
    row("client",
        fmt::format("{}: refused by {} servers, {} uploads{}{}", number(each, "client"),
                    number(each, "refused_by"), number(each, "uploads"), note.empty() ? "" : ": ", note));
  }
  if (value.value("list_cut", false)) fmt::print("  ... the list was cut to what fits a reply\n");
}

void print_revoke(const json& value) {
  for (const json& each : value["revoked"]) {
    row("revoked", fmt::format("the scrub of node {}: {} servers told from here, {} connecting, {} owed",
                               number(each, "root"), number(each, "emitted"), number(each, "connecting"),
                               number(each, "owed")));
  }
}

void print_named_groups(const json& groups) {
  for (const json& each : groups) {
    row("group", fmt::format("{} of node {}, {} members{}", each.value("name", ""), number(each, "creator"),
                             number(each, "members"), each.value("delayed", false) ? ", delayed" : ""));
  }
}

void print_trace(const json& value) {
  fmt::print("{}", value.value("text", ""));
}

void print_members(const json& value) {
  for (const auto& [key, member] : value.items()) {
    const bool size = key == "bytes" || key == "size";
    if (key == "named_groups") {
      print_named_groups(member);
    } else if (member.is_array()) {
      row(key, as_ranges(member.get<std::vector<std::uint64_t>>()));
    } else if (size) {
      row(key, as_size(member.get<std::uint64_t>()));
    } else {
      row(key, member.is_string() ? member.get<std::string>() : member.dump());
    }
  }
}

void print_value(const std::string& command, const json& value) {
  static const std::map<std::string_view, void (*)(const json&)> printers = {
      {"df", print_df},
      {"scrub", print_scrub},
      {"find", print_find},
      {"top", print_top},
      {"ingest", print_ingest},
      {"install", print_install},
      {"trace", print_trace},
      {"plan", print_plan},
      {"layout", print_layout},
      {"pool", print_pool},
      {"revoke", print_revoke},
      {"evict", print_ended},
      {"admit", print_admitted},
      {"clients", print_clients},
      {"maintenance", print_maintenance},
      {"leader", print_maintenance},
      {"commit", print_epoch},
      {"epoch", print_epoch},
  };
  const auto found = printers.find(command);
  (found == printers.end() ? print_members : found->second)(value);
}

// ---- who took part

std::string nodes_of(const json& ids) {
  const auto list = ids.get<std::vector<std::uint64_t>>();
  return fmt::format("{} {}", list.size() == 1 ? "node" : "nodes", as_ranges(list));
}

void print_group(std::string_view state, const json& ids, const std::string& why) {
  fmt::print("  {:<12}{:>4}  {}{}{}\n", state, ids.size(), nodes_of(ids), why.empty() ? "" : ": ", why);
}

/// Formats a cause such as "delivery, connection_lost: ... (says node 1)".
std::string reason_of(const json& report) {
  const std::string phase = report.value("phase", "");
  return fmt::format("{}{} (says node {})", phase == "none" ? "" : phase + ", ",
                     report["cause"].value("text", ""), number(report, "reporter"));
}

/// Groups members in the same state for the same reason, wherever they stand in the list.
void print_reports(const json& reports) {
  std::map<std::pair<std::string, std::string>, json> together;
  for (const json& each : reports) {
    json& ids = together[{each.value("state", ""), reason_of(each)}];
    for (const json& id : each["nodes"]) ids.push_back(id);
  }
  for (const auto& [key, ids] : together) print_group(key.first, ids, key.second);
}

/// Counts each server once: a server that did not answer a roll call may be a member of the group as well, or
/// may have been left out of it.
std::size_t servers_in(const json& answer) {
  std::set<std::uint64_t> all;
  for (const char* state : {"merged", "executed", "failed", "not_reached", "unknown"}) {
    for (const json& id : answer["outcome"][state]) all.insert(id.get<std::uint64_t>());
  }
  for (const json& each : answer["absent"]) all.insert(number(each, "node"));
  return all.size();
}

void print_outcome(const json& answer) {
  const json& outcome = answer["outcome"];
  const auto merged = outcome["merged"].size();
  if (answer["status"]["code"] == "ok" && answer["absent"].empty()) {
    row("servers", fmt::format("all {} executed", merged));
    return;
  }
  fmt::print("{}: {} of {} servers are in the answer\n", merged == 0 ? "NO ANSWER" : "PARTIAL ANSWER", merged,
             servers_in(answer));
  if (merged != 0) print_group("merged", outcome["merged"], "");
  print_reports(outcome["reports"]);
  for (const json& each : answer["absent"])
    print_group("absent", json::array({each["node"]}), each["cause"].value("text", ""));
}

}  // namespace

void print_answer(const json& answer) {
  const json& value = answer["value"];
  if (!value.is_null()) print_value(answer.value("command", ""), value);
  if (answer.contains("outcome")) {
    print_outcome(answer);
  } else if (answer["status"]["code"] != "ok") {
    fmt::print("{}\n", answer["status"].value("text", ""));
  }
  fmt::print("{}", answer.value("trace", ""));
  if (const std::string advice = answer.value("advice", ""); !advice.empty()) fmt::print("=> {}\n", advice);
}

}  // namespace shard
