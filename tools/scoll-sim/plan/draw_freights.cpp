#include <algorithm>
#include <array>

#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/plan.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// The bulk data of broadcasts: how much it is, the way it takes, and who has trouble with it.
namespace scoll::sim {
namespace {

/// In seeds without faults, nothing fails by itself, unless members alter bytes: there are seeds for either.
bool alters_alone(const draft& d) {
  return !d.swarm() && d.options().work == workload::bulk && d.stream("altering").chance(1, 2);
}

events::freight draw_freight(draft& d, std::uint64_t broadcast, draws& random) {
  constexpr std::array plans{bulk_plan::whole(),    bulk_plan::chain(),    bulk_plan::binary(),
                             bulk_plan::kary(4),    bulk_plan::knomial(2), bulk_plan::knomial(4),
                             bulk_plan::circulant()};
  const bulk_plan plan = plans[random.below(plans.size())];
  const std::uint64_t most = d.options().work == workload::bulk ? 2'000'000 : 400'000;
  events::freight f;
  f.broadcast = broadcast;
  f.bytes = random.magnitude(1, most);
  if (random.chance(1, 20)) f.bytes = 0;
  f.plan = static_cast<std::uint8_t>(plan.kind());
  f.radix = plan.radix();
  f.piece_bytes = least_bulk_piece_bytes << random.below(3);
  f.parts = static_cast<std::uint32_t>(random.between(1, 3));
  const number_set few = d.half(random) & d.half(random) & d.half(random);
  const number_set others = d.half(random) & d.half(random) & d.half(random);
  const number_set alike = d.half(random) & d.half(random) & d.half(random);
  const number_set still = d.half(random) & d.half(random) & d.half(random);
  if (random.chance(1, 4)) f.placeless = random.chance(1, 2) ? few : number_set::below(d.hosts());
  if (random.chance(1, 8)) f.spoiling = others;
  const bool alone = alters_alone(d);
  const bool alters = random.chance(1, alone ? 2 : 8) && (d.swarm() || alone);
  if (alters) f.altering = alike;
  const bool stands = random.chance(1, 6) && f.spoiling.empty();
  const bool passes = random.chance(1, 2);
  const std::uint64_t slots = random.between(4, 6);
  if (stands) f.standing = still;
  if (alters && alone) {
    // Sources are lost with many pieces to give. Whoever goes up for them may ask a member that waits for it.
    f.plan = static_cast<std::uint8_t>(bulk_plan_kind::circulant);
    f.radix = bulk_plan::circulant().radix();
    f.piece_bytes = least_bulk_piece_bytes;
    f.bytes = std::max<std::uint64_t>(f.bytes, 24 * least_bulk_piece_bytes + 1);
    if (passes) f.placeless = few;
  }
  if (stands && passes) {
    // Somebody stands still over a piece that others need: there are more pieces than slots.
    f.placeless = number_set::below(d.hosts());
    f.plan = static_cast<std::uint8_t>(bulk_plan_kind::chain);
    f.radix = bulk_plan::chain().radix();
    f.piece_bytes = least_bulk_piece_bytes;
    f.bytes = slots * least_bulk_piece_bytes;
  }
  return f;
}

/// A host wants bulk data that it has no right to: while they are on their way, or when they are over.
void draw_stranger(draft& d, const drawn_broadcast& b, draws& random) {
  const bool opens = random.chance(2, 3);
  const std::uint64_t later = opens ? random.magnitude(10, 20'000) : random.magnitude(10'000, 2'000'000);
  const std::uint32_t from = d.host(random);
  d.add(b.at + from_us(later),
        events::stray{b.number, from, opens ? stray_kind::reader : stray_kind::orderer});
}

}  // namespace

/// All of these events but the strangers come before all broadcasts.
void draw_freights(draft& d) {
  if (!d.has().freights) return;
  for (const drawn_broadcast& b : d.broadcasts) {
    draws random = d.stream("freight", b.number);
    const bool often = d.options().work == workload::failures;  // those are repaired, too
    if (!random.chance(1, d.options().work == workload::bulk ? 2 : often ? 6 : 20)) continue;
    d.add(nanoseconds(0), draw_freight(d, b.number, random));
    if (random.chance(1, 2)) draw_stranger(d, b, random);
  }
}

}  // namespace scoll::sim
