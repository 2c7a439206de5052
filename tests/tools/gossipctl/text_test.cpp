#include "tools/gossipctl/ctl/text.hpp"

#include "tests/catch.hpp"

using namespace gossipctl;

namespace {

const style plain{false};
const style coloured{true};

json sample_status() {
  return json::parse(R"({
    "name": "storage", "address": "10.0.0.2:7400", "index": 1, "stage": "active", "incarnation": 1700, "pid": 4711,
    "uptime_s": 7261.4, "participants": 4, "alive": 2, "dead": 1, "unknown": 1, "clock": 36301, "cycles": 36290,
    "epoch": 3, "interval_ms": 200.0, "threshold_cycles": 12, "threshold_ms": 2400.0, "loss": 0.0512,
    "withheld": null, "longest_gap_ms": 3.2, "sealed": true, "keys": ["0badcafe", "12345678"], "unknown_key": 0,
    "injected_losses": 0})");
}

json member(int index, const char* address, const char* state, json age, const char* reach, int aliveness) {
  json m;
  m["index"] = index;
  m["address"] = address;
  m["state"] = state;
  m["incarnation"] = age.is_null() ? json() : json(1700 + index);
  m["aliveness"] = aliveness;
  m["age"] = std::move(age);
  m["reach"] = reach;
  return m;
}

json members() {
  json all = json::array();
  all.push_back(member(0, "10.0.0.1:7400", "alive", 3, "reachable", 0));
  all.push_back(member(1, "10.0.0.2:7400", "alive", 0, "untried", 0));
  all.back()["self"] = true;
  all.push_back(member(2, "10.0.0.3:7400", "dead", 254, "unreachable", 11));
  all.push_back(member(3, "10.0.0.104:7400", "unknown", json(), "untried", 0));
  return all;
}

json verdict(const char* state) {
  json v = json::parse(R"({
    "index": 2, "address": "10.0.0.3:7400", "incarnation": 1702, "aliveness": 1, "age": 54, "last_heard": 946,
    "last_direct": 940, "since": 960, "age_then": 13, "threshold_then": 12, "loss_then": 0.05, "threshold": 13,
    "loss": 0.061, "withheld": null, "reach": "unreachable", "last_tried": 999, "unanswered": 4, "clock": 1000,
    "self": false, "interval_ms": 200.0, "observer": "10.0.0.2:7400"})");
  v["state"] = state;
  return v;
}

}  // namespace

TEST_CASE("durations are told in the unit that fits") {
  REQUIRE(duration_text(0) == "0 ms");
  REQUIRE(duration_text(999) == "999 ms");
  REQUIRE(duration_text(2400) == "2.4 s");
  REQUIRE(duration_text(150e3) == "2 min");
  REQUIRE(duration_text(3 * 3600e3) == "3.0 h");
  REQUIRE(duration_text(5 * 86400e3) == "5.0 d");
}

TEST_CASE("the status is a short list") {
  REQUIRE(status_text(sample_status(), plain) ==
          "cluster       storage\n"
          "participant   10.0.0.2:7400 (index 1)\n"
          "stage         active, up 2.0 h, pid 4711\n"
          "members       2 alive, 1 dead, 1 unknown of 4\n"
          "clock         cycle 36301, one every 200 ms\n"
          "threshold     12 cycles (2.4 s), loss 5.1 %\n"
          "authenticity  sealed with 0badcafe; opens also 12345678\n");
  json without = sample_status();
  without["sealed"] = false;
  without["withheld"] = "no_replies";
  const std::string text = status_text(without, plain);
  REQUIRE(text.find("verdicts      withheld: no_replies\n") != std::string::npos);
  REQUIRE(text.find("authenticity  no key: anybody who can send a datagram is believed\n") !=
          std::string::npos);
}

TEST_CASE("the members are a table with aligned columns") {
  REQUIRE(members_text(members(), 200, plain) ==
          "#  PARTICIPANT      STATE              AGE  REACH        LIVES\n"
          "0  10.0.0.1:7400    alive       3 (600 ms)  reachable        1\n"
          "1  10.0.0.2:7400    alive                -  self             1\n"
          "2  10.0.0.3:7400    dead     254+ (50.8 s)  unreachable     12\n"
          "3  10.0.0.104:7400  unknown          never  untried          -\n"
          "2 alive, 1 dead, 1 unknown of 4\n");
}

TEST_CASE("colours change nothing but colours") {
  const auto stripped = [](const std::string& text) {
    std::string out;
    for (std::size_t at = 0; at != text.size(); ++at) {
      if (text[at] == '\x1b') {
        at = text.find('m', at);
      } else {
        out += text[at];
      }
    }
    return out;
  };
  const std::string table = members_text(members(), 200, coloured);
  REQUIRE(table.find("\x1b[1;31mdead\x1b[0m") != std::string::npos);
  REQUIRE(table.find("\x1b[32malive\x1b[0m") != std::string::npos);
  REQUIRE(stripped(table) == members_text(members(), 200, plain));
  REQUIRE(stripped(status_text(sample_status(), coloured)) == status_text(sample_status(), plain));
  REQUIRE(stripped(explain_text(verdict("dead"), coloured)) == explain_text(verdict("dead"), plain));
}

TEST_CASE("a verdict is explained in words") {
  REQUIRE(
      explain_text(verdict("dead"), plain) ==
      "10.0.0.3:7400 (index 2) is dead: nobody that 10.0.0.2:7400 hears from had heard of it for 13 cycles,\n"
      "more than the threshold of 12 at a loss of 5.0 %\n"
      "held by                 10.0.0.2:7400\n"
      "dead since              cycle 960 (8.0 s ago)\n"
      "last heard of           cycle 946 (10.8 s ago)\n"
      "last heard from itself  cycle 940 (12.0 s ago)\n"
      "last pinged             cycle 999 (200 ms ago); unreachable, 4 pings in a row unanswered\n"
      "incarnation             1702\n"
      "times it came back      1\n"
      "threshold now           13 cycles (2.6 s) at a loss of 6.1 %\n");
  const std::string alive = explain_text(verdict("alive"), plain);
  REQUIRE(alive.find("is alive: last heard of 54 cycles ago, the threshold being 13\n") != std::string::npos);
  json unknown = verdict("unknown");
  for (const char* key :
       {"incarnation", "age", "last_heard", "last_direct", "since", "age_then", "last_tried"})
    unknown[key] = nullptr;
  unknown["withheld"] = "stealth";
  const std::string text = explain_text(unknown, plain);
  REQUIRE(text.find("is unknown: 10.0.0.2:7400 has never heard of it\n") != std::string::npos);
  REQUIRE(text.find("withheld at present: stealth\n") != std::string::npos);
  json self = verdict("alive");
  self["self"] = true;
  REQUIRE(explain_text(self, plain) == "10.0.0.3:7400 (index 2) is this participant itself\n");
}

TEST_CASE("changes are one line each") {
  const json dead = json::parse(R"({"event": "dead", "address": "10.0.0.3:7400", "cycle": 960, "age_then": 13,
                                    "threshold_then": 12, "incarnation": 1702})");
  REQUIRE(event_text(dead, "12:00:00.000", plain) ==
          "12:00:00.000  c960  dead      10.0.0.3:7400  not heard of for 13 cycles, threshold 12\n");
  json rebooted = dead;
  rebooted["event"] = "rebooted";
  REQUIRE(event_text(rebooted, "12:00:00.000", plain) ==
          "12:00:00.000  c960  rebooted  10.0.0.3:7400  life 1702\n");
  const json lost = json::parse(R"({"event": "lost", "text": "changes were not taken"})");
  REQUIRE(event_text(lost, "12:00:00.000", plain) == "12:00:00.000  changes were not taken\n");
}
