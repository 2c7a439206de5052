#include <algorithm>

#include "tools/scoll-sim/rails/rails_faults.hpp"

// The kinds of runs in which one particular thing fails. Their draws have a stream of their own.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Whoever is silent for less than this loses no session, and whoever is silent for longer than that loses it.
constexpr std::uint64_t brief_silence_ms = 7'000;
constexpr std::uint64_t long_silence_ms = 12'000;

nanoseconds time_of(std::uint64_t ms) noexcept {
  return milliseconds(static_cast<std::int64_t>(ms));
}

/// Adds the faults of one run, one after the other.
class weather_maker {
 public:
  weather_maker(rails_plan& p, draws& random, std::uint32_t most_hosts) noexcept
      : plan_(p), random_(random), most_hosts_(std::max(most_hosts, 2U)) {}

  void make(rails_weather which) {
    plan_.weather = which;
    draw_hosts(2, 4);
    switch (which) {
      case rails_weather::altered: return alter();
      case rails_weather::uneven: return make_uneven();
      case rails_weather::crossed: return cross();
      case rails_weather::switched: return switch_off();
      case rails_weather::restless: return be_restless();
      case rails_weather::opposite: return drop_opposite_ways();
      case rails_weather::lonely: return be_lonely();
      case rails_weather::returned: return fall_silent_at_return();
      case rails_weather::hinted: return hint();
      default: return claim();
    }
  }

  /// Two of three switches fail, and the same two once more. When they are back, connections by the rails that
  /// have failed less have taken all places, and must give way.
  void crowd() {
    plan_.weather = rails_weather::switched;
    draw_hosts(2, 4);
    plan_.rails = 3;
    plan_.ps_per_byte.resize(plan_.rails, plan_.ps_per_byte.back());
    for (int i = 0; i < 2; ++i) {
      const nanoseconds lasts = time_of(random_.between(3'000, 8'000));
      const auto kind = random_.chance(1, 2) ? rails_fault_kind::block : rails_fault_kind::refuse;
      for (const std::uint32_t rail : {0U, 1U}) add(kind, lasts, 0, rail, true);
      pass(lasts + rails_respite);
    }
  }

 private:
  void draw_hosts(std::uint32_t least, std::uint32_t most) {
    plan_.hosts = std::min(static_cast<std::uint32_t>(random_.between(least, most)), most_hosts_);
  }
  std::uint32_t any_host() { return static_cast<std::uint32_t>(random_.below(plan_.hosts)); }
  std::uint32_t any_rail() { return static_cast<std::uint32_t>(random_.below(plan_.rails)); }
  rails_fault_kind any_end() {
    constexpr rails_fault_kind ways[]{rails_fault_kind::block, rails_fault_kind::refuse,
                                      rails_fault_kind::block_out, rails_fault_kind::block_in};
    return random_.one_of(ways);
  }
  void add(rails_fault_kind kind, nanoseconds lasts, std::uint32_t host, std::uint32_t rail, bool all = false,
           std::uint32_t amount = 0) {
    plan_.faults.push_back({at_, at_ + lasts, kind, host, rail, all, amount});
  }
  void pass(nanoseconds time) noexcept { at_ += time; }

  void alter() {
    for (int i = 0; i < 4; ++i) {
      const auto pieces = static_cast<std::uint32_t>(random_.between(1, 3));
      const std::uint32_t host = any_host();
      const std::uint32_t rail = random_.chance(3, 4) ? 0 : any_rail();
      add(rails_fault_kind::alter, seconds(1), host, rail, random_.chance(1, 4), pieces);
      pass(rails_respite);
    }
  }

  void make_uneven() {
    const std::uint32_t spoiled = any_rail();
    const nanoseconds lasts = seconds(30);
    if (random_.chance(1, 2)) {
      add(rails_fault_kind::slow, lasts, any_host(), spoiled, random_.chance(1, 2));
    } else {
      const auto factor = static_cast<std::uint32_t>(random_.magnitude(100, 10'000));
      add(rails_fault_kind::narrow, lasts, any_host(), spoiled, random_.chance(1, 2), factor);
    }
    pass(seconds(4));
    for (std::uint32_t rail = 0; rail < plan_.rails; ++rail) {
      if (rail != spoiled) add(any_end(), time_of(random_.between(500, 8'000)), 0, rail, true);
    }
  }

  void cross() {
    plan_.misled = any_host();
    for (int i = 0; i < 3; ++i) {
      const nanoseconds lasts = time_of(random_.between(500, 5'000));
      add(any_end(), lasts, any_host(), any_rail(), random_.chance(1, 4));
      pass(lasts + rails_respite);
    }
  }

  void switch_off() {
    for (int i = 0; i < 2; ++i) {
      const nanoseconds lasts = time_of(random_.between(2'000, 8'000));
      const auto kind = random_.chance(2, 3) ? rails_fault_kind::block : rails_fault_kind::refuse;
      const std::uint32_t rail = i == 0 ? 0 : any_rail();
      add(kind, lasts, 0, rail, true);
      if (plan_.rails > 2 && random_.chance(1, 2)) add(kind, lasts, 0, (rail + 1) % plan_.rails, true);
      pass(lasts + rails_respite);
    }
  }

  void be_restless() {
    while (at_ < first_rails_fault + seconds(40)) {
      const nanoseconds lasts = time_of(random_.between(200, 3'000));
      add(any_end(), lasts, any_host(), any_rail(), random_.chance(1, 2));
      pass(lasts + time_of(random_.between(200, 3'000)));
    }
  }

  void drop_opposite_ways() {
    const std::uint32_t host = any_host();
    const bool spares_one = plan_.rails > 2 && random_.chance(1, 2);
    const bool is_long = random_.chance(1, 3);
    if (is_long && !spares_one) plan_.cut_off = host;
    for (int i = 0; i < 2; ++i) {
      const std::uint64_t long_ms = random_.between(long_silence_ms, long_silence_ms + 4'000);
      const std::uint64_t brief_ms = random_.magnitude(200, brief_silence_ms / 2);
      const nanoseconds lasts = time_of(is_long ? long_ms : brief_ms);
      const bool turned = random_.chance(1, 2);
      for (std::uint32_t rail = 0; rail < plan_.rails - spares_one; ++rail)
        add((rail % 2 == 0) == turned ? rails_fault_kind::block_in : rails_fault_kind::block_out, lasts, host,
            rail);
      pass(lasts + 2 * rails_respite);
    }
  }

  void be_lonely() {
    plan_.calls_one_way = false;
    draw_hosts(3, 6);
    for (int i = 0; i < 2; ++i) {
      const nanoseconds lasts = time_of(random_.between(4'000, 8'000));
      const std::uint32_t first = any_host();
      const std::uint32_t rail = random_.chance(3, 4) ? 0 : any_rail();
      const std::uint32_t several = plan_.hosts == 6 && random_.chance(1, 2) ? 3 : 1;
      const rails_fault_kind kind = any_end();
      for (std::uint32_t k = 0; k < several; ++k) add(kind, lasts, (first + k) % plan_.hosts, rail);
      pass(lasts + 2 * rails_respite);
    }
  }

  void fall_silent_at_return() {
    draw_hosts(2, 2);
    plan_.rails = 2;
    const std::uint32_t host = any_host();
    const std::uint32_t first = any_rail();
    const nanoseconds away = time_of(random_.between(15'000, 40'000));
    add(any_end(), away, host, first);
    pass(away + time_of(random_.between(1, 80)));
    add(random_.chance(1, 2) ? rails_fault_kind::block : rails_fault_kind::block_out, seconds(9), host,
        1 - first);
  }

  void claim() {
    plan_.calls_one_way = false;
    plan_.claimed = any_host();
    for (int i = 0; i < 2; ++i) {
      const nanoseconds lasts = time_of(random_.between(500, 5'000));
      pass(seconds(3));
      add(any_end(), lasts, any_host(), any_rail(), random_.chance(1, 4));
      pass(lasts + rails_respite);
    }
  }

  /// So long that nobody tries the rail when it comes back, unless a hint says so; or hints for no reason alone.
  void hint() {
    const std::uint32_t host = any_host();
    const auto rail = static_cast<std::uint32_t>(random_.below(2));  // a third one need not be connected
    const bool fails = random_.chance(3, 4);
    for (int i = 0; i < 2 && fails; ++i) {
      const nanoseconds lasts = time_of(random_.between(10'000, 30'000));
      add(any_end(), lasts, host, rail);
      if (random_.chance(3, 4))
        plan_.hints.push_back({at_ + time_of(random_.below(200)), host, rail, false, true});
      pass(lasts);
      plan_.hints.push_back({at_ + time_of(random_.between(1, 50)), host, rail, true, true});
      pass(rails_respite);
    }
    for (std::uint64_t i = random_.between(2, 12); i-- != 0;) {
      const auto ms = static_cast<std::uint64_t>((at_ + seconds(6)) / milliseconds(1));
      plan_.hints.push_back({time_of(random_.between(2'000, ms)), any_host(),
                             fails ? (rail + 1) % plan_.rails : any_rail(), random_.chance(1, 2)});
    }
  }

  rails_plan& plan_;
  draws& random_;
  std::uint32_t most_hosts_;
  nanoseconds at_ = first_rails_fault;
};

}  // namespace

void draw_other_weather(const plan& p, rails_plan& drawn) {
  draws random(p.seed, "rails weather");
  if (p.faults == fault_profile::none || !random.chance(2, 3)) return;
  constexpr rails_weather kinds[]{rails_weather::altered,  rails_weather::uneven,   rails_weather::crossed,
                                  rails_weather::switched, rails_weather::restless, rails_weather::opposite,
                                  rails_weather::lonely,   rails_weather::returned, rails_weather::claimed};
  draws hints(p.seed, "rails hints");
  const bool hinted = hints.chance(1, 10);
  draws places(p.seed, "rails places");
  const bool crowded = places.chance(1, 20);
  const rails_weather which = hinted ? rails_weather::hinted : random.one_of(kinds);
  drawn.faults.clear();
  drawn.calls_one_way = random.chance(1, 4);
  weather_maker maker(drawn, random, p.hosts);
  crowded ? maker.crowd() : maker.make(which);
}

}  // namespace scoll::sim
