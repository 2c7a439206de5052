#pragma once

#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "transport/security/tls_guard.hpp"

/// What a stranger may send to a guard, as one function, which the fuzzer and its corpus share. The first byte
/// chooses:
///
///   0  steps to a guard that accepts: each with its length in two bytes before it
///   1  the same to a guard that connects
///   2  records to a guard that is proven, in runs with their length in two bytes
namespace fuzz {

namespace guarding {

using namespace scoll;
using namespace scoll::transport;

using input = std::span<const std::byte>;

inline void demand(bool holds) {
  if (!holds) std::abort();
}

/// The ring of both sides, which a stranger does not have.
inline const std::shared_ptr<const tls_material>& ring() {
  static const auto made =
      tls_material::of_ring(key_ring::parse(std::string(64, 'a')).value(), "fuzz").value();
  return made;
}

inline std::unique_ptr<link_guard> make(tls_guard::side at) {
  hello said;
  said.security = 1;
  said.key = ring()->offered().id;
  return tls_guard::make(ring(), &ring()->offered(), at, said).value();
}

/// Takes the next run off the input.
inline input next_run(input& from) {
  if (from.size() < 2) return std::exchange(from, {});
  const std::size_t wanted =
      std::to_integer<std::size_t>(from[0]) << 8U | std::to_integer<std::size_t>(from[1]);
  from = from.subspan(2);
  const input run = from.first(std::min(wanted, from.size()));
  from = from.subspan(run.size());
  return run;
}

inline void steps(input from, tls_guard::side at) {
  const auto guard = make(at);
  std::size_t taken = 0;
  while (!from.empty()) {
    const status outcome = guard->take_step(next_run(from));
    demand(!guard->proven());
    demand(guard->unsent().size() <= link_guard::most_steps * link_guard::most_step_bytes);
    if (!outcome) return;
    demand(++taken <= link_guard::most_steps);
  }
}

inline void records(input from) {
  const auto one = make(tls_guard::side::connecting);
  const auto other = make(tls_guard::side::accepting);
  demand(other->take_step(one->unsent()).has_value());
  demand(one->take_step(other->unsent()).has_value());
  demand(other->take_step(one->unsent()).has_value());
  demand(one->proven() && other->proven());
  std::array<std::byte, 1000> opened;
  while (!from.empty()) {
    other->feed(next_run(from));
    const auto size = other->open(opened);
    demand(!size || *size == 0);
    if (!size) return;
  }
}

}  // namespace guarding

inline void guard_input(std::span<const std::uint8_t> data) {
  if (data.empty()) return;
  const auto all = std::as_bytes(data);
  switch (std::to_integer<unsigned>(all[0]) % 3) {
    case 0: return guarding::steps(all.subspan(1), guarding::tls_guard::side::accepting);
    case 1: return guarding::steps(all.subspan(1), guarding::tls_guard::side::connecting);
    default: return guarding::records(all.subspan(1));
  }
}

}  // namespace fuzz
