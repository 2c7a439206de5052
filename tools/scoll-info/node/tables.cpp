#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace info {
namespace {

/// Rows of cells, of which all but the last of each row are padded to the width of their column.
class table {
 public:
  explicit table(std::vector<std::string> heads) { add(std::move(heads)); }

  void add(std::vector<std::string> cells) {
    widths_.resize(std::max(widths_.size(), cells.size()));
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
    rows_.push_back(std::move(cells));
  }

  std::string text() const {
    std::string made;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:{}}  ", row[i], widths_[i]);
      line.erase(line.find_last_not_of(' ') + 1);
      made += line + "\n";
    }
    return made;
  }

 private:
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_number_float()) return fmt::format("{:.3f}", value.get<double>());
  return value.dump();
}

std::string or_dash(const json& value) {
  const std::string text = text_of(value);
  return text.empty() ? "-" : text;
}

/// The numbers of the classes, most urgent first: "32/64/64/16".
std::string by_class(const json& numbers) {
  std::string text;
  for (const auto& each : numbers) text += (text.empty() ? "" : "/") + each.dump();
  return text;
}

std::string lanes_of(const json& peer) {
  const auto one = [](const json& up) { return up.get<bool>() ? "up" : "-"; };
  return fmt::format("{}/{}", one(peer["lanes"]["control"]), one(peer["lanes"]["bulk"]));
}

std::string peers(const json& answer) {
  table t(
      {"node", "state", "address", "lanes", "credit", "queued", "waiting", "owing", "held", "last failure"});
  for (const json& p : answer["peers"]) {
    t.add({text_of(p["id"]), text_of(p["state"]), text_of(p["address"]), lanes_of(p), by_class(p["credit"]),
           by_class(p["queued"]), text_of(p["waiting"]), text_of(p["owing"]), text_of(p["held_messages"]),
           or_dash(p["last_failure"])});
  }
  return t.text();
}

std::string events(const json& list) {
  std::string text;
  for (const json& e : list) text += event_text(e) + "\n";
  return text;
}

std::string peer(const json& answer) {
  const json& p = answer["peer"];
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:14} {}\n", name, value);
  };
  line("node", text_of(p["id"]));
  line("state", text_of(p["state"]));
  line("address", text_of(p["address"]));
  line("incarnation", text_of(p["incarnation"]));
  line("epochs", fmt::format("{} here, {} there", text_of(p["epoch"]), text_of(p["peer_epoch"])));
  for (const auto& [lane, up] : p["lanes"].items())
    line(lane + " lane", up.get<bool>() ? "connected" : "not connected");
  for (const auto& [klass, credit] : p["credit"].items())
    line(klass, fmt::format("credit {}, queued {}", text_of(credit), text_of(p["queued"][klass])));
  line("waiting", text_of(p["waiting"]));
  line("owing", text_of(p["owing"]));
  line("held messages", text_of(p["held_messages"]));
  const double rtt_us = p["rtt_us"].get<double>();
  line("round trip", rtt_us == 0 ? "not measured" : fmt::format("{:.1f} us", rtt_us));
  line("last failure", or_dash(p["last_failure"]));
  line("of bulk", or_dash(p["last_bulk_failure"]));
  return text + events(answer["events"]);
}

/// A time in milliseconds, in seconds; "-" if there is none.
std::string seconds_text(const json& ms) {
  return ms.is_null() ? "-" : fmt::format("{:.1f}", ms.get<double>() / 1000);
}

/// "up", or "dead: lost by 3 peers within 1 s"
std::string state_of(const json& rail) {
  const auto state = rail["state"].get<std::string>();
  return rail["verdict"].is_null() ? state : state + ": " + rail["verdict"].get<std::string>();
}

std::string rails(const json& answer) {
  table own({"rail", "state", "for s", "address", "device", "peers", "connections", "last error"});
  for (const json& r : answer["rails"]) {
    own.add({or_dash(r["name"]), state_of(r), seconds_text(r["since_ms"]), or_dash(r["address"]),
             or_dash(r["device"]), text_of(r["peers"]), text_of(r["connections"]), text_of(r["last_error"])});
  }
  table t({"node", "rail", "to", "health", "for s", "lanes", "carries", "suspected", "died", "moved",
           "proof s", "next try s", "why"});
  for (const json& peer : answer["peers"]) {
    for (const json& p : peer["paths"]) {
      t.add({text_of(peer["id"]), or_dash(p["rail"]), or_dash(p["address"]), text_of(p["health"]),
             seconds_text(p["since_ms"]), lanes_of(p), text_of(p["carries"]), text_of(p["suspicions"]),
             text_of(p["deaths"]), text_of(p["moves"]), seconds_text(p["proof_ms"]),
             seconds_text(p["next_try_ms"]), text_of(p["why"])});
    }
  }
  return own.text() + "\n" + t.text();
}

std::string sentences(const json& answer) {
  std::string text;
  for (const json& each : answer["sentences"]) text += each.get<std::string>() + "\n";
  return text;
}

std::string groups(const json& answer) {
  table t({"group", "name", "service", "members", "state"});
  for (const json& g : answer["groups"]) {
    const char* const state = g["revoked"].get<bool>()   ? "revoked"
                              : g["delayed"].get<bool>() ? "delayed"
                                                         : "-";
    t.add({text_of(g["id"]), or_dash(g["name"]), fmt::format("{:#06x}", g["service"].get<unsigned>()),
           text_of(g["members"]), state});
  }
  return t.text();
}

std::string operations(const json& answer) {
  table t({"kind", "service", "group", "root", "age ms", "stage", "unanswered", "hooks"});
  for (const json& o : answer["operations"]) {
    const json& name = o["group_name"];
    t.add({text_of(o["kind"]), or_dash(o["service"]),
           text_of(name).empty() ? text_of(o["group"]) : text_of(name), text_of(o["root"]),
           text_of(o["age_ms"]), text_of(o["stage"]),
           fmt::format("{} of {}", text_of(o["unanswered"]), text_of(o["children"])), or_dash(o["hooks"])});
  }
  return t.text();
}

std::string of_limit(const json& used, const json& limit) {
  const bool bounded = limit.get<std::uint64_t>() != 0;
  return bounded ? fmt::format("{} of {}", text_of(used), text_of(limit)) : text_of(used);
}

std::string calls(const json& answer) {
  std::string text;
  for (const char* name : {"handlers", "awaited_calls", "large_memory_bytes"})
    text += fmt::format("{:20} {}\n", name, of_limit(answer[name]["used"], answer[name]["limit"]));
  table functions({"function", "inside", "calls", "failures", "p50 ms", "p99 ms"});
  for (const json& f : answer["functions"]) {
    functions.add({text_of(f["name"]), text_of(f["inside"]), text_of(f["calls"]), text_of(f["failures"]),
                   text_of(f["p50_ms"]), text_of(f["p99_ms"])});
  }
  if (!answer["functions"].empty()) text += "\n" + functions.text();
  table running({"call of", "from node", "age ms", "stage"});
  for (const json& c : answer["calls"])
    running.add({text_of(c["function"]), text_of(c["caller"]), text_of(c["age_ms"]), text_of(c["stage"])});
  if (!answer["calls"].empty()) text += "\n" + running.text();
  return text;
}

std::string memory(const json& answer) {
  table t({"resource", "used", "limit", "what is counted"});
  for (const json& r : answer["resources"]) {
    const bool bounded = r["limit"].get<std::uint64_t>() != 0;
    t.add({text_of(r["name"]), text_of(r["used"]), bounded ? text_of(r["limit"]) : "-", text_of(r["about"])});
  }
  return t.text();
}

std::string validity(const json& seconds) {
  if (seconds.is_null()) return "-";
  constexpr std::int64_t hour = 3600;
  constexpr std::int64_t day = 24 * hour;
  const auto left = seconds.get<std::int64_t>();
  return left < 0 ? "has expired"
                  : fmt::format("valid for {} days and {} hours", left / day, left % day / hour);
}

std::string security(const json& answer) {
  std::string others;
  for (std::size_t i = 1; i < answer["keys"].size(); ++i)
    others += (i == 1 ? "" : " ") + answer["keys"][i].get<std::string>();
  std::string text;
  const auto line = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{:22} {}\n", name, value);
  };
  line("mode", text_of(answer["mode"]));
  line("fabric", text_of(answer["fabric"]));
  line("first key", answer["keys"].empty() ? "-" : text_of(answer["keys"][0]));
  line("other keys", others.empty() ? "-" : others);
  line("certificate", validity(answer["certificate_seconds"]));
  line("not authentic", text_of(answer["not_authentic"]));
  line("older keys", text_of(answer["older_keys"]));
  line("unknown keys", text_of(answer["unknown_keys"]));
  line("outdated certificates", text_of(answer["certificates_outdated"]));
  line("misnamed certificates", text_of(answer["certificates_misnamed"]));
  return text;
}

}  // namespace

std::string table_of(const std::string& command, const json& answer) {
  if (command == "peers") return peers(answer);
  if (command.starts_with("peer ")) return peer(answer);
  if (command == "rails") return rails(answer);
  if (command.starts_with("explain ")) return sentences(answer);
  if (command == "groups") return groups(answer);
  if (command == "operations") return operations(answer);
  if (command == "calls") return calls(answer);
  if (command == "memory") return memory(answer);
  if (command == "security") return security(answer);
  return events(answer["events"]);
}

std::string event_text(const json& event) {
  return fmt::format("{} {:7} {:17} {}", text_of(event["time"]), text_of(event["level"]),
                     text_of(event["kind"]), text_of(event["text"]));
}

}  // namespace info
