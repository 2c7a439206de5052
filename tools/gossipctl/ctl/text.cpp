#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace gossipctl {
namespace {

/// Rows of cells, with columns as wide as their longest cell. Colours are added after the widths are known.
class table {
 public:
  using paint = std::string (style::*)(std::string_view) const;
  struct cell {
    cell(std::string t, paint p = nullptr, bool to_right = false)
        : text(std::move(t)), painted(p), right(to_right) {}
    std::string text;
    paint painted;
    bool right;
  };

  void add(std::vector<cell> row) { rows_.push_back(std::move(row)); }

  std::string draw(const style& with) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i != row.size(); ++i) widths[i] = std::max(widths[i], row[i].text.size());
    }
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i != row.size(); ++i) {
        const cell& c = row[i];
        const std::string room(widths[i] - c.text.size(), ' ');
        const std::string text = c.painted != nullptr ? (with.*c.painted)(c.text) : c.text;
        line += (i == 0 ? "" : "  ") + (c.right ? room + text : text + room);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

 private:
  std::vector<std::vector<cell>> rows_;
};

table::paint paint_of(const std::string& state) {
  if (state == "alive" || state == "reachable") return &style::good;
  if (state == "dead" || state == "unreachable") return &style::bad;
  return &style::doubtful;
}

std::string number_or(const json& value, const char* otherwise) {
  return value.is_null() ? otherwise : fmt::format("{}", value.get<std::uint64_t>());
}

/// True if a participant has an id that says more than its index.
bool has_ids(const json& members) {
  return std::any_of(members.begin(), members.end(), [](const json& m) {
    return m.contains("id") &&
           (m["id"].get<std::uint64_t>() != m["index"].get<std::uint64_t>() + 1 || m["addresses"].size() > 1);
  });
}

/// Formats an age in cycles and in time.
std::string age_text(const json& age, double interval_ms) {
  if (age.is_null()) return "never";
  const auto cycles = age.get<std::uint32_t>();
  return fmt::format("{}{} ({})", cycles, cycles >= 254 ? "+" : "", duration_text(cycles * interval_ms));
}

std::string percent(const json& share) {
  return fmt::format("{:.1f} %", 100 * share.get<double>());
}

/// Formats a text such as "since cycle 120, 4.2 s ago".
std::string ago(const json& then, std::uint64_t clock, double interval_ms) {
  if (then.is_null()) return "never";
  const auto at = then.get<std::uint64_t>();
  const double passed = clock > at ? static_cast<double>(clock - at) * interval_ms : 0;
  return fmt::format("cycle {} ({} ago)", at, duration_text(passed));
}

std::string counts_line(const json& s, const style& with) {
  const auto dead = s["dead"].get<std::uint32_t>();
  const auto unknown = s["unknown"].get<std::uint32_t>();
  std::string line = with.good(fmt::format("{} alive", s["alive"].get<std::uint32_t>()));
  line += ", " + (dead != 0 ? with.bad(fmt::format("{} dead", dead)) : std::string("0 dead"));
  if (unknown != 0) line += ", " + with.doubtful(fmt::format("{} unknown", unknown));
  return line + fmt::format(" of {}", s["participants"].get<std::uint32_t>());
}

std::string keys_text(const json& s) {
  if (!s["sealed"].get<bool>()) return "no key: anybody who can send a datagram is believed";
  std::string text = fmt::format("sealed with {}", s["keys"][0].get<std::string>());
  for (std::size_t i = 1; i < s["keys"].size(); ++i)
    text += fmt::format("{}{}", i == 1 ? "; opens also " : ", ", s["keys"][i].get<std::string>());
  return text;
}

}  // namespace

std::string duration_text(double ms) {
  constexpr double second = 1000;
  constexpr double minute = 60 * second;
  constexpr double hour = 60 * minute;
  if (ms < second) return fmt::format("{:.0f} ms", ms);
  if (ms < 2 * minute) return fmt::format("{:.1f} s", ms / second);
  if (ms < 2 * hour) return fmt::format("{:.0f} min", ms / minute);
  if (ms < 48 * hour) return fmt::format("{:.1f} h", ms / hour);
  return fmt::format("{:.1f} d", ms / (24 * hour));
}

std::string status_text(const json& s, const style& with) {
  table t;
  const auto row = [&t](const char* name, std::string value, table::paint paint = nullptr) {
    t.add({{name, &style::faint}, {std::move(value), paint}});
  };
  const std::string stage = s["stage"].get<std::string>();
  row("cluster", s["name"].get<std::string>(), &style::strong);
  row("participant",
      fmt::format("{} (index {})", s["address"].get<std::string>(), s["index"].get<std::uint32_t>()));
  row("stage", fmt::format("{}, up {}, pid {}", stage, duration_text(1000 * s["uptime_s"].get<double>()),
                           s["pid"].get<int>()));
  row("members", counts_line(s, with));
  row("clock", fmt::format("cycle {}, one every {}", s["clock"].get<std::uint64_t>(),
                           duration_text(s["interval_ms"].get<double>())));
  row("threshold", fmt::format("{} cycles ({}), loss {}", s["threshold_cycles"].get<std::uint32_t>(),
                               duration_text(s["threshold_ms"].get<double>()), percent(s["loss"])));
  if (!s["withheld"].is_null())
    row("verdicts", fmt::format("withheld: {}", s["withheld"].get<std::string>()), &style::doubtful);
  row("authenticity", keys_text(s));
  return t.draw(with);
}

std::string members_text(const json& members, double interval_ms, const style& with) {
  table t;
  const auto heading = &style::strong;
  const bool ids = has_ids(members);
  const auto add = [&t, ids](std::vector<table::cell> row, table::cell id) {
    if (ids) row.insert(row.begin() + 1, std::move(id));
    t.add(std::move(row));
  };
  add({{"#", heading, true},
       {"PARTICIPANT", heading},
       {"STATE", heading},
       {"AGE", heading, true},
       {"REACH", heading},
       {"LIVES", heading, true}},
      {"ID", heading, true});
  std::uint32_t alive = 0;
  std::uint32_t dead = 0;
  for (const json& m : members) {
    const auto state = m["state"].get<std::string>();
    const bool self = m.value("self", false);
    alive += state == "alive";
    dead += state == "dead";
    const auto reach = m["reach"].get<std::string>();
    add({{fmt::format("{}", m["index"].get<std::uint32_t>()), nullptr, true},
         {m["address"].get<std::string>()},
         {state, paint_of(state)},
         {self ? "-" : age_text(m["age"], interval_ms), nullptr, true},
         {self ? "self" : reach, self ? &style::faint : paint_of(reach)},
         {m["incarnation"].is_null() ? "-" : fmt::format("{}", m["aliveness"].get<std::uint32_t>() + 1),
          nullptr, true}},
        {ids ? fmt::format("{}", m["id"].get<std::uint64_t>()) : "", nullptr, true});
  }
  json sums;
  sums["alive"] = alive;
  sums["dead"] = dead;
  sums["unknown"] = members.size() - alive - dead;
  sums["participants"] = members.size();
  return t.draw(with) + counts_line(sums, with) + '\n';
}

std::string explain_text(const json& v, const style& with) {
  const auto state = v["state"].get<std::string>();
  const auto clock = v["clock"].get<std::uint64_t>();
  const double interval = v["interval_ms"].get<double>();
  const std::string who =
      fmt::format("{} (index {})", v["address"].get<std::string>(), v["index"].get<std::uint32_t>());
  if (v["self"].get<bool>()) return fmt::format("{} is this participant itself\n", who);
  std::string out = fmt::format("{} is {}", with.strong(who), (with.*paint_of(state))(state));
  if (state == "dead") {
    out += fmt::format(
        ": nobody that {} hears from had heard of it for {} cycles,\nmore than the threshold of {} at a loss "
        "of "
        "{}\n",
        v["observer"].get<std::string>(), number_or(v["age_then"], "?"),
        v["threshold_then"].get<std::uint32_t>(), percent(v["loss_then"]));
  } else if (state == "unknown") {
    out += fmt::format(": {} has never heard of it\n", v["observer"].get<std::string>());
  } else {
    out += fmt::format(": last heard of {} cycles ago, the threshold being {}\n", number_or(v["age"], "?"),
                       v["threshold"].get<std::uint32_t>());
  }
  table t;
  const auto row = [&t](const char* name, std::string value) {
    t.add({{name, &style::faint}, {std::move(value)}});
  };
  row("held by", v["observer"].get<std::string>());
  row(state == "dead" ? "dead since" : "so since", ago(v["since"], clock, interval));
  row("last heard of", ago(v["last_heard"], clock, interval));
  row("last heard from itself", ago(v["last_direct"], clock, interval));
  row("last pinged",
      fmt::format("{}; {}, {} pings in a row unanswered", ago(v["last_tried"], clock, interval),
                  v["reach"].get<std::string>(), v["unanswered"].get<std::uint32_t>()));
  row("incarnation", number_or(v["incarnation"], "not known"));
  row("times it came back", fmt::format("{}", v["aliveness"].get<std::uint32_t>()));
  row("threshold now",
      fmt::format("{} cycles ({}) at a loss of {}", v["threshold"].get<std::uint32_t>(),
                  duration_text(v["threshold"].get<std::uint32_t>() * interval), percent(v["loss"])));
  if (!v["withheld"].is_null())
    row("verdicts", fmt::format("withheld at present: {}", v["withheld"].get<std::string>()));
  return out + t.draw(with);
}

std::string dump_text(const json& d, const style& with) {
  std::string out = status_text(d["status"], with);
  const auto section = [&](const char* title, const json& values) {
    table t;
    for (const auto& [key, value] : values.items())
      t.add({{"  " + key}, {value.is_string() ? value.get<std::string>() : value.dump()}});
    out += '\n' + with.strong(title) + '\n' + t.draw(with);
  };
  section("configuration", d["configuration"]);
  section("counters", d["counters"]);
  section("port", d["port"]);
  return out + '\n' + members_text(d["members"], d["status"]["interval_ms"].get<double>(), with);
}

std::string event_text(const json& e, const std::string& time, const style& with) {
  const auto kind = e["event"].get<std::string>();
  if (kind == "lost")
    return fmt::format("{}  {}\n", with.faint(time), with.doubtful(e["text"].get<std::string>()));
  const auto paint = kind == "dead" ? &style::bad : kind == "alive" ? &style::good : &style::doubtful;
  std::string line = fmt::format("{}  c{}  {}  {}", with.faint(time), e["cycle"].get<std::uint64_t>(),
                                 (with.*paint)(fmt::format("{:8}", kind)), e["address"].get<std::string>());
  if (kind == "dead") {
    line += with.faint(fmt::format("  not heard of for {} cycles, threshold {}",
                                   number_or(e["age_then"], "?"), e["threshold_then"].get<std::uint32_t>()));
  } else {
    line += with.faint(fmt::format("  life {}", e["incarnation"].get<std::uint64_t>()));
  }
  return line + '\n';
}

}  // namespace gossipctl
