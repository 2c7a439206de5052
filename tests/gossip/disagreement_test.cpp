#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "cores.hpp"

using namespace cores;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Participants whose configurations differ: both sides say so, and neither believes the other.

namespace {

struct lines final : log_sink {
  void on_log(log_level level, std::uint64_t, std::uint64_t, std::string_view text) noexcept override {
    if (level <= log_level::warning) all.emplace_back(text);
  }
  std::vector<std::string> all;
};

/// Two participants with configurations of their own, and the index that each gives the other.
struct pair {
  pair(configuration_ptr of_a, configuration_ptr of_b, participant_index self_a, participant_index self_b)
      : a(std::move(of_a), self_a, logged(to_a)), b(std::move(of_b), self_b, logged(to_b)) {}

  static options logged(lines& to) {
    options o = plain_options();
    o.log = &to;
    return o;
  }
  /// Each ping of one arrives at the other, whatever it was meant for, and so do the replies.
  void run(int cycles, participant_index b_at_a, participant_index a_at_b) {
    for (int i = 0; i < 2 * cycles; ++i) {
      now += interval / 2;
      for (station* s : {&a, &b}) {
        if (s->protocol.next_timer() <= now) s->protocol.on_timer(now);
      }
      while (!a.out.empty() || !b.out.empty()) {
        pass(a, b, b_at_a, a_at_b);
        pass(b, a, a_at_b, b_at_a);
      }
    }
  }
  /// `target`: the receiver's index at the sender, so that messages to others are left out.
  void pass(station& from, station& to, participant_index target, participant_index source) {
    while (!from.out.empty()) {
      const sent one = from.out.front();
      from.out.pop_front();
      if (one.to != nobody && one.to != target) continue;
      if (source == nobody) {
        if (to.protocol.on_stranger(one.message, now, {})) to.protocol.report_stranger("10.9.9.9:7400");
      } else {
        to.protocol.on_message(source, one.message, now);
      }
    }
  }

  lines to_a, to_b;
  station a, b;
  time_point now{};
};

std::size_t containing(const lines& l, std::string_view what) {
  std::size_t count = 0;
  for (const std::string& line : l.all) count += line.find(what) != std::string::npos;
  return count;
}

bool has(const station& s, participant_index who, parameter what) {
  return std::any_of(s.reports.begin(), s.reports.end(),
                     [&](const disagreement& d) { return d.who == who && d.what == what; });
}

}  // namespace

TEST_CASE("of two with different intervals each is told, with parameter and peer, once in ten seconds") {
  pair p(shared_by(4), shared_by(4, milliseconds(250)), 0, 1);
  p.run(20, 1, 0);
  CHECK(p.to_a.all == std::vector<std::string>{"p:1 has another configuration: interval"});
  CHECK(p.to_b.all == std::vector<std::string>{"p:0 has another configuration: interval"});
  CHECK(has(p.a, 1, parameter::interval));
  CHECK(has(p.b, 0, parameter::interval));
  CHECK(p.a.protocol.counts().disagreeing > 2);
  CHECK(p.b.protocol.counts().disagreeing > 2);
  p.run(100, 1, 0);  // 20 s more
  CHECK(p.to_a.all.size() == 3);
  CHECK(p.to_b.all.size() == 3);
  CHECK(p.a.protocol.counts().merged == 0);
  CHECK(p.b.protocol.counts().merged == 0);
}

TEST_CASE("of two whose lists differ each is told, although each has the other under another id and index") {
  const auto three = configuration::make({"p:1", "p:2", "p:3"}, interval).value();
  const auto four = configuration::make({"p:0", "p:1", "p:2", "p:3"}, interval).value();
  REQUIRE(three->id(2) != four->id(3));
  pair p(three, four, 0, 3);  // p:1 and p:3
  p.run(20, 2, 1);
  CHECK(p.to_a.all == std::vector<std::string>{"p:3 has another configuration: participants"});
  CHECK(p.to_b.all == std::vector<std::string>{"p:1 has another configuration: participants"});
  CHECK(p.a.protocol.counts().malformed == 0);
  CHECK(p.b.protocol.counts().malformed == 0);
  CHECK(p.a.protocol.counts().disagreeing > 0);
  CHECK(p.b.protocol.counts().disagreeing > 0);
}

TEST_CASE("a participant that is missing in the list of another is told so, and the other says who asks") {
  const auto three = configuration::make({"p:0", "p:1", "p:2"}, interval).value();
  const auto four = configuration::make({"p:0", "p:1", "p:2", "p:3"}, interval).value();
  pair p(three, four, 0, 3);
  p.run(20, nobody, 0);  // p:3 is a stranger to p:0
  CHECK(containing(p.to_b, "p:0 has another configuration: participants") == 1);
  CHECK(has(p.b, 0, parameter::participants));
  CHECK(p.to_a.all ==
        std::vector<std::string>{"10.9.9.9:7400 sends gossip, but is not among the participants here"});
  CHECK(has(p.a, nobody, parameter::participants));
  CHECK(p.a.protocol.counts().unknown_address > 2);
}

TEST_CASE("what a stranger makes up is neither answered nor reported") {
  for (const bool sealed : {false, true}) {
    const auto shared = shared_by(4);
    aead_seal seal(keys(), 4);
    options o = plain_options();
    if (sealed) o.seal = &seal;
    station s(shared, 0, o);
    bytes ping = message(*shared_by(5), 0, head(4, 1, 1), {0, 0, 0, 0, 0});
    ping.back() ^= std::byte{1};
    CHECK_FALSE(s.protocol.on_stranger(ping, time_point(seconds(60)), {}));
    CHECK_FALSE(s.protocol.on_stranger(bytes(100), time_point(seconds(60)), {}));
    CHECK(s.protocol.counts().unknown_address == 2);
    CHECK(s.out.empty());
  }
}

TEST_CASE("a version whose messages cannot be checked is reported, and stops nobody") {
  lines to;
  options o = plain_options();
  o.log = &to;
  const auto shared = shared_by(4);
  station s(shared, 0, o);
  for (const auto version : std::to_array<std::uint16_t>({1, 3, 99})) {
    message_head h = head(2, version, 1);
    h.version = version;
    h.kind = message_kind::reply;
    h.echo = 1;
    h.established = true;
    bytes other = message(*shared, 0, h, {});
    other.back() ^= std::byte{1};
    for (int i = 0; i < 5; ++i) s.protocol.on_message(2, other, time_point(seconds(version)));
  }
  CHECK(s.protocol.stage() == participation::active);
  CHECK(s.protocol.counts().other_version == 15);
  CHECK(s.protocol.counts().malformed == 0);
  CHECK(to.all ==
        std::vector<std::string>{"p:2 speaks version 1 of the gossip, this participant version 2",
                                 "p:2 speaks version 99 of the gossip, this participant version 2"});
  REQUIRE(s.reports.size() == 2);
  CHECK(s.reports[0].who == 2);
  CHECK(s.reports[0].what == parameter::version);
  CHECK(s.out.empty());
}
