#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../catch.hpp"
#include "gossip/core.hpp"
#include "gossip/liveness/merge.hpp"
#include "gossip/message.hpp"

/// Cores without any network: what they send lies in a queue until the test delivers it.
namespace cores {

using namespace scoll;
using namespace scoll::gossip;
using bytes = std::vector<std::byte>;

inline constexpr nanoseconds interval = std::chrono::milliseconds(200);

inline configuration_ptr shared_by(std::uint32_t count, nanoseconds every = interval) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back("p:" + std::to_string(i));
  return configuration::make(std::move(names), every).value();
}

inline options plain_options(std::uint64_t seed = 1) {
  options o;
  o.seed = seed;
  o.incarnation = 1;
  o.stealth = false;
  o.jitter = false;
  return o;
}

struct sent {
  participant_index to;
  bytes message;
};

struct station final : core_output {
  station(configuration_ptr shared, participant_index self, const options& o, time_point now = time_point(),
          std::size_t most = 65507)
      : index(self), protocol(std::move(shared), self, o, most, now, *this) {}

  bool send(participant_index to, std::span<const std::byte> message) noexcept override {
    out.push_back({to, bytes(message.begin(), message.end())});
    return true;
  }
  void changed(const liveness_event& e) noexcept override { events.push_back(e); }

  participant_index index;
  std::deque<sent> out;
  std::vector<liveness_event> events;
  core protocol;
};

/// A message that a test makes up.
inline bytes message(const configuration& shared, message_head h, const std::vector<std::uint8_t>& ages,
                     const std::vector<life>& lives = {}, std::uint32_t first = 0) {
  bytes buffer(4096);
  h.digest = shortened(shared.digest());
  message_writer w(buffer);
  w.head(h);
  if (h.in_full) w.configuration(claim_of(shared));
  if (ages.empty()) {
    w.no_entries();
  } else {
    w.all_entries({first, static_cast<std::uint32_t>(ages.size())}, ages.data());
  }
  w.lives(lives);
  w.table(0, {}, 0);
  buffer.resize(add_checksum(buffer, w.size()));
  return buffer;
}

inline message_head head(participant_index from, std::uint64_t sequence, std::uint64_t clock,
                         std::uint64_t incarnation = 1) {
  message_head h;
  h.sender = static_cast<std::uint16_t>(from);
  h.sequence = sequence;
  h.clock = clock;
  h.incarnation = incarnation;
  return h;
}

inline message_view view(const configuration& shared, const bytes& b) {
  const auto plain = without_checksum(b);
  REQUIRE(plain);
  const auto h = decode_head(*plain);
  REQUIRE(h.has_value());
  const auto m = decode_body(*h, plain->subspan(message_head::bytes), shared.size());
  REQUIRE(m.has_value());
  return *m;
}

/// A few of them in step, on a network that delivers at once whatever `lose` does not take.
struct cluster {
  explicit cluster(std::uint32_t count, const options& o = plain_options()) : shared(shared_by(count)) {
    for (std::uint32_t i = 0; i < count; ++i) start(i, o);
  }

  void start(participant_index i, options o) {
    if (all.size() <= i) all.resize(i + 1);
    o.seed += i;
    all[i] = std::make_unique<station>(shared, i, o, now);
  }
  void kill(participant_index i) { all[i].reset(); }

  void run(int cycles) {
    for (int c = 0; c < cycles; ++c) {
      for (int part = 0; part < 8; ++part) {
        now += interval / 8;
        for (auto& s : all) {
          if (s && s->protocol.next_timer() <= now) s->protocol.on_timer(now);
          deliver();
        }
      }
    }
  }

  void deliver() {
    for (bool any = true; any;) {
      any = false;
      for (auto& s : all) {
        while (s && !s->out.empty()) {
          const sent one = std::move(s->out.front());
          s->out.pop_front();
          any = true;
          if (lose && lose(s->index, one.to)) continue;
          if (all[one.to]) all[one.to]->protocol.on_message(s->index, one.message, now);
        }
      }
    }
  }

  configuration_ptr shared;
  time_point now{};
  std::vector<std::unique_ptr<station>> all;
  std::function<bool(participant_index, participant_index)> lose;
};

}  // namespace cores
