#include "tools/scoll-sim/exhaust/kill_check.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/tree/chain.hpp"
#include "scoll/tree/kary.hpp"
#include "tools/scoll-sim/exhaust/make_parts.hpp"

namespace scoll::sim {
namespace {

constexpr std::array policies{degrade, fail_fast, repair};
constexpr std::array ends{member_end::loud, member_end::silent, member_end::reboot, member_end::doubted};

/// The groups in which a policy is tried.
std::span<const kill_group> groups_for(failure_policy policy) {
  using enum kill_group;
  static constexpr std::array all{created, adopted, unheard_of, delayed};
  return std::span(all).first(policy == repair ? 4 : 2);
}

std::array<tree_spec, 4> trees() {
  return {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(knomial{4}), tree_spec(kary{3})};
}

/// A blow after so many steps, counted from the one before.
struct timed_blow {
  std::uint32_t step = 0;
  blow what;
};

std::string to_string(const timed_blow& b) {
  std::string text = fmt::format("rank {} {}", b.what.victim, to_string(b.what.what));
  if (b.what.hearer) text += fmt::format(" by rank {}", *b.what.hearer);
  return text + fmt::format(" after {} steps", b.step);
}

/// Makes one run. Returns false if something is wrong in it.
bool holds(exhausted& part, const kill_subject& subject, const std::vector<timed_blow>& blows) {
  kill_trial run(subject);
  for (const timed_blow& b : blows) {
    run.run(b.step);
    run.strike(b.what);
  }
  ++part.cases;
  part.violation = run.finish();
  if (part.violation.empty()) return true;
  part.way.push_back(to_string(subject));
  for (const timed_blow& b : blows) part.way.push_back(to_string(b));
  return false;
}

/// The number of steps after those blows, until the await has ended.
std::uint32_t steps_after(const kill_subject& subject, const std::vector<timed_blow>& blows) {
  kill_trial run(subject);
  for (const timed_blow& b : blows) {
    run.run(b.step);
    run.strike(b.what);
  }
  const std::uint32_t steps = run.run(UINT32_MAX);
  static_cast<void>(run.finish());
  return steps;
}

/// Makes a run for each of these blows at each step of the run that nobody disturbs.
exhausted at_each_step(std::string name, const kill_subject& subject, const std::vector<blow>& blows,
                       std::uint32_t stride) {
  exhausted part{std::move(name), 0, {}, {}};
  if (!holds(part, subject, {})) return part;
  const std::uint32_t steps = steps_after(subject, {});
  for (std::uint32_t step = 0; step <= steps; step += stride) {
    for (const blow& b : blows) {
      if (!holds(part, subject, {{step, b}})) return part;
    }
  }
  return part;
}

}  // namespace

exhausted strike_each_member(const kill_subject& subject, member_end what, std::uint32_t stride) {
  std::vector<blow> blows;
  for (std::uint32_t victim = 0; victim < subject.members; ++victim) blows.push_back({what, victim});
  return at_each_step(fmt::format("{}: one {} at each step", to_string(subject), to_string(what)), subject,
                      blows, stride);
}

exhausted doubt_by_each_member(const kill_subject& subject, std::uint32_t stride) {
  std::vector<blow> blows;
  for (std::uint32_t victim = 0; victim < subject.members; ++victim) {
    for (std::uint32_t hearer = 0; hearer < subject.members; ++hearer) {
      if (hearer != victim) blows.push_back({member_end::doubted, victim, hearer});
    }
  }
  return at_each_step(fmt::format("{}: one calls another dead wrongly at each step", to_string(subject)),
                      subject, blows, stride);
}

exhausted strike_each_pair(const kill_subject& subject, member_end what, std::uint32_t stride) {
  exhausted part{
      fmt::format("{}: one {} at each step, and then another one", to_string(subject), to_string(what)),
      0,
      {},
      {}};
  const std::uint32_t steps = steps_after(subject, {});
  for (std::uint32_t step = 0; step <= steps; step += stride) {
    for (std::uint32_t first = 0; first < subject.members; ++first) {
      const std::uint32_t more = steps_after(subject, {{step, {what, first}}});
      for (std::uint32_t later = 0; later <= more; later += stride) {
        for (std::uint32_t second = 0; second < subject.members; ++second) {
          if (second == first) continue;
          if (!holds(part, subject, {{step, {what, first}}, {later, {what, second}}})) return part;
        }
      }
    }
  }
  return part;
}

exhausted strike_drawn_pairs(std::uint32_t most_members, std::uint32_t draws, std::uint64_t seed) {
  exhausted part{
      fmt::format("up to {} members: two members at drawn steps, seed {}", most_members, seed), 0, {}, {}};
  random_generator random(seed);
  const auto one_of = [&](const auto& all) { return all[random.below(all.size())]; };
  while (part.cases < draws) {
    const auto members = static_cast<std::uint32_t>(3 + random.below(most_members - 2));
    kill_subject subject{one_of(trees()), members, one_of(policies)};
    subject.group = one_of(groups_for(subject.policy));
    const auto first = static_cast<std::uint32_t>(random.below(members));
    const auto second = static_cast<std::uint32_t>((first + 1 + random.below(members - 1)) % members);
    const timed_blow one{static_cast<std::uint32_t>(random.below(steps_after(subject, {}) + 1)),
                         {one_of(ends), first}};
    const timed_blow two{static_cast<std::uint32_t>(random.below(steps_after(subject, {one}) + 1)),
                         {one_of(ends), second}};
    if (!holds(part, subject, {one, two})) return part;
  }
  return part;
}

namespace {

constexpr std::uint32_t usual_most = 33;
// Where the number of runs grows with the square of that of the members.
constexpr std::uint32_t most_in_full = 9;
// Where every end is tried in every kind of group.
constexpr std::uint32_t most_in_every_group = 12;

std::uint32_t most_members(const exhaust_settings& settings) {
  return settings.most_members != 0 ? settings.most_members : usual_most;
}

using part_makers = std::vector<std::function<exhausted()>>;

/// True for what the settings name, or if they name nothing.
bool is_wanted(std::string_view name, const std::string& only) {
  return only.empty() || name == only;
}

/// Calls `add(subject)` for every tree and policy that is wanted, in a created group and in those that new lives can
/// enter, in groups of `least` to `most` members.
template <class Add>
void each_subject(std::uint32_t least, std::uint32_t most, const exhaust_settings& settings, Add&& add) {
  for (std::uint32_t members = least; members <= most; ++members) {
    for (const tree_spec& tree : trees()) {
      for (const failure_policy policy : policies) {
        if (!is_wanted(to_string(tree), settings.tree) || !is_wanted(name_of(policy), settings.policy))
          continue;
        for (const kill_group group : groups_for(policy)) add(kill_subject{tree, members, policy, group});
      }
    }
  }
}

/// True for the runs of large groups that differ from others: who dies, in a created group, and who comes back or is
/// doubted, in one out of band, which knows who lives.
bool is_tried(const kill_subject& subject, member_end what) {
  const bool dies = what == member_end::loud || what == member_end::silent;
  return subject.members <= most_in_every_group ||
         subject.group == (dies ? kill_group::created : kill_group::adopted);
}

std::vector<exhausted> make_all(std::string_view subject, const part_makers& makers,
                                const exhaust_settings& settings) {
  return make_parts(subject, makers.size(), settings, [&](std::size_t at) { return makers[at](); });
}

}  // namespace

std::vector<exhausted> exhaust_kill(const exhaust_settings& settings) {
  part_makers makers;
  each_subject(2, most_members(settings), settings, [&](const kill_subject& subject) {
    for (const member_end what : ends) {
      if (is_tried(subject, what))
        makers.emplace_back([subject, what] { return strike_each_member(subject, what); });
    }
    if (subject.members <= most_in_full)
      makers.emplace_back([subject] { return doubt_by_each_member(subject); });
  });
  return make_all("kill", makers, settings);
}

std::vector<exhausted> exhaust_kill_two(const exhaust_settings& settings) {
  constexpr std::uint32_t drawn_parts = 50, draws_in_each = 2000;
  const std::uint32_t most = most_members(settings);
  part_makers makers;
  each_subject(3, std::min(most, most_in_full), settings, [&](const kill_subject& subject) {
    for (const member_end what : ends)
      makers.emplace_back([subject, what] { return strike_each_pair(subject, what); });
  });
  for (std::uint64_t part = 0; part < drawn_parts && most > 2; ++part) {
    const std::uint64_t seed = settings.seed + part;
    makers.emplace_back([most, seed] { return strike_drawn_pairs(most, draws_in_each, seed); });
  }
  return make_all("kill-two", makers, settings);
}

}  // namespace scoll::sim
