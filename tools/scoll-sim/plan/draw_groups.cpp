#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/lopsided_tree.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// The groups: how each comes into being, and when somebody asks for its end.
namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t first_adopted_group = 500;  // numbers of adopted groups
constexpr std::uint64_t first_mapped = 700;         // numbers of groups whose members services name
constexpr std::uint64_t first_settled = 900;        // numbers of groups made of delayed ones
constexpr std::uint64_t first_hasty = 2'000;  // numbers of groups whose creation is overtaken by its undoing
constexpr std::uint64_t first_cut_short = 61'000;  // numbers of calls that last until their group ends

tree_spec draw_tree(draft& d, draws& random) {
  constexpr std::uint8_t shapes[]{flat::kind,    chain::kind,   kary::kind,
                                  knomial::kind, knomial::kind, kary::kind};
  constexpr std::uint8_t own_shapes[]{greedy::kind, lopsided_tree::kind};
  const std::uint8_t usual = random.one_of(shapes);
  const auto radix = static_cast<std::uint32_t>(random.between(2, 8));
  const bool own = random.chance(1, 3);
  const std::uint8_t special = random.one_of(own_shapes);
  const auto latency = static_cast<std::uint32_t>(random.between(1, 9));
  const auto merge = static_cast<std::uint32_t>(random.below(4));
  if (own && d.has().own_trees) {
    if (special == lopsided_tree::kind) return {special, {radix, 0, 0}};
    return {special, {latency, radix, merge}};
  }
  const bool takes_radix = usual == kary::kind || usual == knomial::kind;
  return {usual, {takes_radix ? radix : 0, 0, 0}};
}

/// Puts the members of a group into zones, and gives it a tree that knows of them. Either also comes alone.
tree_spec draw_zones(draft& d, std::uint64_t number, const tree_spec& otherwise) {
  draws random = d.stream("zones of a group", number);
  if (!d.has().zones || !random.chance(3, 4)) return otherwise;
  const auto zones = static_cast<std::uint32_t>(random.between(2, 6));
  const auto across = static_cast<std::uint32_t>(random.between(2, 4));
  const auto within = static_cast<std::uint32_t>(random.between(2, 5));
  const bool unknown = random.chance(1, 8);
  const bool other_tree = random.chance(1, 5);
  if (!unknown) d.add(nanoseconds(0), events::zones{number, zones});
  return other_tree ? otherwise : tree_spec(zoned{across, within});
}

/// A tree with one parameter at most: groups without a creator are named by their number alone.
tree_spec with_one_parameter(const tree_spec& tree) {
  if (tree.kind == greedy::kind) return knomial{3};
  if (tree.kind == zoned::kind) return zoned{tree.params[0], tree.params[0]};
  return tree;
}

service_kind draw_service(draft& d, draws& random) {
  constexpr service_kind two[]{service_kind::bare, service_kind::hooked};
  constexpr service_kind all[]{service_kind::bare, service_kind::hooked, service_kind::plain,
                               service_kind::brief, service_kind::versioned};
  const service_kind one = random.one_of(two);
  const service_kind any = random.one_of(all);
  constexpr service_kind with_places[]{service_kind::hooked, service_kind::plain, service_kind::versioned};
  if (d.options().work == workload::bulk) return random.one_of(with_places);
  if (d.options().work == workload::streams && random.chance(3, 4)) return service_kind::streaming;
  return d.has().all_services ? any : one;
}

number_set draw_members(draft& d, std::uint64_t number, draws& random) {
  const number_set some = d.half(random);
  const number_set more = d.half(random);
  const bool few = random.chance(1, 2);
  if (number == 0 || !random.chance(3, 5)) return d.everybody();
  return few ? some : some | more;
}

/// A member that holds a delayed group makes an immediate one of it.
void draw_settling(draft& d, std::uint64_t number, nanoseconds at, const number_set& members, draws& random) {
  std::uint32_t host = d.host(random);
  while (!members.contains(host)) host = (host + 1) % d.hosts();
  const nanoseconds later = random.moment(at, d.beginning() + d.horizon);
  d.add(later, events::settle{number, host, first_settled + number});
  d.groups.push_back({first_settled + number, later, members});
}

/// A host ends the group, at times while a call goes on that it has made through it.
void draw_end(draft& d, std::uint64_t number, nanoseconds at, std::uint32_t by) {
  draws random = d.stream("end of a group", number);
  if (d.has().calls && d.hosts() > 1 && random.chance(1, 2)) {
    const std::uint64_t call = first_cut_short + number;
    const std::uint32_t to = d.other_than(by, random);
    d.add(nanoseconds(0), events::within{call, number});
    d.add(at - milliseconds(2),
          events::call{call, by, to, 10, std::chrono::seconds(60), microseconds(0), 0, 10});
    d.add(at + std::chrono::seconds(2), events::call_stop{call});
  }
  d.add(at, events::destroy{number, by});
}

/// The group within which a group of those members may be: an earlier one that has all of them.
std::uint64_t draw_outer(const draft& d, std::uint64_t number, const number_set& members, draws& random) {
  std::vector<std::uint64_t> possible;
  for (const drawn_group& g : d.groups) {
    if (g.number < number && (members - g.members).empty()) possible.push_back(g.number);
  }
  return possible.empty() ? 0 : 1 + possible[random.below(possible.size())];
}

void draw_created(draft& d, std::uint64_t number, nanoseconds at) {
  draws random = d.stream("group", number);
  const std::uint32_t creator = d.host(random);
  const tree_spec tree = draw_tree(d, random);
  number_set members = draw_members(d, number, random);
  members.insert(creator);
  const service_kind service = draw_service(d, random);
  const bool entities = random.chance(1, 2) && d.has().entities;
  draws manner = d.stream("manner of a group", number);
  const bool delayed = manner.chance(1, 2) && d.has().delayed_groups;
  const bool large = manner.chance(1, 3) && d.has().large_groups;
  draws terms = d.stream("terms of a group", number);
  const bool lasting = terms.chance(1, 3) && d.has().lasting_groups && !delayed;
  const bool within = terms.chance(1, 2) && d.has().inner_groups;
  const std::uint64_t inside = within ? draw_outer(d, number, members, terms) : 0;
  const tree_spec used = draw_zones(d, number, tree);
  d.add(at, events::group{number, creator, used.kind, used.params[0], members, service, used.params[1],
                          used.params[2], entities, microseconds(0), delayed, large, lasting, inside});
  d.groups.push_back({number, at, members});
  if (delayed && manner.chance(1, 4)) draw_settling(d, number, at, members, manner);
  if (d.mixed() && number >= 2 && random.chance(1, 3)) {
    const nanoseconds end = random.moment(at, d.beginning() + d.horizon);
    draw_end(d, number, end, d.host(random));
  }
}

/// Some members do not hold the group, and some hold another one under its id.
void draw_adopted(draft& d, std::uint64_t number) {
  draws random = d.stream("adopted group", number);
  const tree_spec tree = draw_tree(d, random);
  number_set members = draw_members(d, number, random);
  members.insert(d.host(random));
  const service_kind service = draw_service(d, random);
  const bool everywhere = random.chance(2, 3);
  const number_set some = d.half(random) | d.half(random);
  const number_set others = d.half(random) & d.half(random);
  const bool agreed = random.chance(2, 3);
  const number_set holders = everywhere ? members : members & some;
  const number_set dissenters = agreed || members.size() < 2 ? number_set() : holders & others;
  if ((holders - dissenters).empty()) return;
  const nanoseconds at = d.beginning() + milliseconds(1);
  const tree_spec used = with_one_parameter(draw_zones(d, number, tree));
  d.add(at, events::adopt{number, used.kind, used.params[0], members, service, holders, dissenters});
  d.groups.push_back({number, at, holders - dissenters});
}

/// Some services name other members, and some take their time.
void draw_mapped(draft& d, std::uint64_t number) {
  draws random = d.stream("mapped group", number);
  const tree_spec tree = draw_tree(d, random);
  number_set members = draw_members(d, number, random);
  members.insert(d.host(random));
  const service_kind service = draw_service(d, random);
  const number_set others = d.half(random) & d.half(random);
  const bool agreed = random.chance(2, 3);
  const number_set dissenters = agreed || members.size() < 2 ? number_set() : members & others;
  const number_set slow = d.half(random);
  const std::uint64_t takes = random.chance(1, 3) ? random.magnitude(100, 3'000'000) : 0;
  if ((members - dissenters).empty()) return;
  const nanoseconds at = d.beginning() + milliseconds(1);
  const tree_spec used = with_one_parameter(draw_zones(d, number, tree));
  d.add(at,
        events::mapped{number, used.kind, used.params[0], members, service, dissenters, slow, as_us(takes)});
  d.groups.push_back({number, at, members - dissenters});
}

/// A creation whose time is over while its requests crawl down a chain: members are told to forget the group
/// before they hear of it.
void draw_hasty_creations(draft& d) {
  draws random = d.stream("hasty creations");
  if (!d.swarm() || d.hosts() < 4 || !random.chance(1, 4)) return;
  const std::uint32_t creator = d.host(random);
  const std::uint32_t slow = d.other_than(creator, random);
  const nanoseconds at = d.beginning() + random.moment(milliseconds(20), d.horizon);
  for (std::uint32_t next = 0; next < d.hosts(); ++next) {
    if (next != slow && next != creator)
      d.add(at, events::slow{slow, next, milliseconds(400), milliseconds(60)});
  }
  d.add(at + milliseconds(1), events::group{first_hasty, creator, chain::kind, 0, d.everybody(),
                                            service_kind::bare, 0, 0, false, milliseconds(120)});
}

}  // namespace

void draw_groups(draft& d) {
  draws random = d.stream("groups");
  const std::uint64_t early = random.between(3, 6);
  const std::uint64_t later = random.between(4, 8);
  const std::uint64_t adopted = random.between(1, 3);
  const nanoseconds start = d.beginning();
  const nanoseconds spread = d.horizon / static_cast<std::int64_t>(later + 1);
  for (std::uint64_t g = 0; g < early + later; ++g) {
    const nanoseconds soon = random.moment(nanoseconds(0), milliseconds(2));
    draw_created(d, g, start + (g < early ? soon : spread * static_cast<std::int64_t>(g - early + 1)));
  }
  for (std::uint64_t g = 0; g < adopted && d.has().adopted_groups; ++g)
    draw_adopted(d, first_adopted_group + g);
  draws named = d.stream("mapped groups");
  const std::uint64_t mapped = named.between(1, 3);
  for (std::uint64_t g = 0; g < mapped && d.has().mapped_groups; ++g) draw_mapped(d, first_mapped + g);
  if (d.mixed()) draw_hasty_creations(d);
  std::sort(d.groups.begin(), d.groups.end(), [](const drawn_group& a, const drawn_group& b) {
    return a.at != b.at ? a.at < b.at : a.number < b.number;
  });
}

}  // namespace scoll::sim
