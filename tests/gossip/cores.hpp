#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossip/aead_seal.hpp"
#include "gossip/core.hpp"
#include "gossip/liveness/merge.hpp"
#include "gossip/message.hpp"
#include "tests/catch.hpp"

/// Cores without a network: their messages lie in a queue until the test delivers them.
namespace cores {

using namespace scoll;
using namespace scoll::gossip;
using transport::key_ring;
using bytes = std::vector<std::byte>;

inline constexpr nanoseconds interval = std::chrono::milliseconds(200);

inline configuration_ptr shared_by(std::uint32_t count, nanoseconds every = interval) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.push_back("p:" + std::to_string(i));
  return configuration::make(std::move(names), every).value();
}

/// Participants with ids from 1 on, and an address on each rail.
inline configuration_ptr shared_on_rails(std::uint32_t count, std::uint32_t rails) {
  std::vector<participant_entry> entries(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    entries[i].id = i + 1;
    for (std::uint32_t r = 0; r < rails; ++r)
      entries[i].addresses.push_back("rail" + std::to_string(r) + ":" + std::to_string(i));
  }
  return configuration::of_entries(std::move(entries), interval).value();
}

inline options plain_options(std::uint64_t seed = 1) {
  options o;
  o.seed = seed;
  o.incarnation = 1;
  o.stealth = false;
  o.jitter = false;
  return o;
}

inline key_ring keys() {
  return key_ring::parse(std::string(64, 'a')).value();
}

struct sent {
  participant_index to;
  bytes message;
  way via{};
};

/// The complete state that a message could have changed.
struct state {
  explicit state(const core& c)
      : ages(c.ages().begin(), c.ages().end()),
        stage(c.stage()),
        clock(c.clock()),
        epoch(c.epoch()),
        merged(c.counts().merged) {
    for (participant_index i = 0; i < ages.size(); ++i) lives.push_back(c.incarnation(i));
  }
  friend bool operator==(const state&, const state&) = default;
  std::vector<std::uint8_t> ages;
  std::vector<std::uint64_t> lives;
  participation stage;
  std::uint64_t clock, epoch, merged;
};

struct station final : core_output {
  station(configuration_ptr shared, participant_index self, const options& o, time_point now = time_point(),
          std::size_t most = 65507)
      : index(self), protocol(std::move(shared), self, o, most, now, *this) {}

  bool send(participant_index to, way via, std::span<const std::byte> message) noexcept override {
    out.push_back({to, bytes(message.begin(), message.end()), via});
    return true;
  }
  void changed(const liveness_event& e) noexcept override { events.push_back(e); }
  void disagrees(const disagreement& d) noexcept override { reports.push_back(d); }

  participant_index index;
  std::deque<sent> out;
  std::vector<liveness_event> events;
  std::vector<disagreement> reports;
  core protocol;
};

/// The replies are addressed to the first life.
inline addressee receiver_of(const configuration& shared, participant_index to, message_kind kind) {
  return {shared.id(to), kind == message_kind::reply ? 1U : 0U};
}

/// Makes a message for a test.
inline bytes message(const configuration& shared, participant_index to, message_head h,
                     const std::vector<std::uint8_t>& ages, const std::vector<life>& lives = {},
                     std::uint32_t first = 0, message_seal* seal = nullptr) {
  bytes buffer(4096 + ages.size());
  h.digest = shortened(shared.digest());
  h.sender_id = h.sender < shared.size() ? shared.id(h.sender) : h.sender + 1U;
  h.receiver_id = shared.id(to);
  message_writer w(buffer);
  w.head(h);
  if (h.in_full) w.configuration(claim_of(shared));
  if (ages.empty()) {
    if (!h.objects) w.no_entries();
  } else {
    w.all_entries({first, static_cast<std::uint32_t>(ages.size())}, ages.data());
  }
  if (!h.objects) {
    w.lives(lives);
    w.table(0, {}, 0);
  }
  const addressee receiver = receiver_of(shared, to, h.kind);
  if (seal == nullptr) {
    buffer.resize(add_checksum(buffer, w.size(), receiver));
    return buffer;
  }
  buffer.resize(w.size() + seal->overhead());
  const std::span<std::byte> all(buffer);
  REQUIRE(seal->seal({h.sender, h.sender_id, h.incarnation, h.sequence, h.clock, receiver},
                     all.first(message_head::bytes),
                     all.subspan(message_head::bytes, w.size() - message_head::bytes)));
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

inline message_view view(const configuration& shared, const sent& s) {
  const auto h = decode_head(s.message);
  REQUIRE(h.has_value());
  const auto plain = without_checksum(s.message, receiver_of(shared, s.to, h->kind));
  REQUIRE(plain);
  const auto m = decode_body(*h, plain->subspan(message_head::bytes), shared.size());
  REQUIRE(m.has_value());
  return *m;
}

/// The same way, as the receiver sees it.
inline way turned(way via) {
  return {via.other, via.own};
}

/// A few cores in step, on a network that delivers at once each message that `lose` does not drop.
struct cluster {
  explicit cluster(std::uint32_t count, const options& o = plain_options(), bool has_keys = false,
                   nanoseconds every = interval)
      : cluster(shared_by(count, every), o, has_keys) {}
  explicit cluster(configuration_ptr by, const options& o = plain_options(), bool has_keys = false)
      : shared(std::move(by)), sealed(has_keys) {
    for (std::uint32_t i = 0; i < shared->size(); ++i) start(i, o);
  }

  void start(participant_index i, options o) {
    if (all.size() <= i) all.resize(i + 1);
    if (sealed) o.seal = &seals.emplace_back(keys(), shared->size());
    o.seed += i;
    all[i] = std::make_unique<station>(shared, i, o, now);
  }
  void kill(participant_index i) { all[i].reset(); }

  void run(int cycles) {
    for (int c = 0; c < cycles; ++c) {
      for (int part = 0; part < 8; ++part) {
        now += shared->interval() / 8;
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
          if (tap) tap(s->index, one);
          if (lose && lose(s->index, one.to)) continue;
          if (cut && (cut(s->index, one.via.own) || cut(one.to, one.via.other))) continue;
          if (all[one.to]) all[one.to]->protocol.on_message(s->index, one.message, now, turned(one.via));
        }
      }
    }
  }

  configuration_ptr shared;
  bool sealed;
  time_point now{};
  std::deque<aead_seal> seals;  // one for every life
  std::vector<std::unique_ptr<station>> all;
  std::function<bool(participant_index, participant_index)> lose;
  std::function<bool(participant_index, rail_index)> cut;  // the rail of a participant is dead
  std::function<void(participant_index, const sent&)> tap;
};

}  // namespace cores
