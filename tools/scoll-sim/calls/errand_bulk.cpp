#include "tools/scoll-sim/calls/errand_bulk.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "scoll/coro/sleep.hpp"
#include "tools/scoll-sim/calls/errand_execution.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint64_t successor_cargo = 1'000'000;  // added to a haul's number

nanoseconds time_from_us(std::uint64_t us) {
  return nanoseconds(static_cast<std::int64_t>(us) * 1000);
}

/// Returns the digest of the bytes that a haul transfers if nothing goes wrong.
std::uint64_t digest_of(const haul_record& h) {
  wire::checksum_stream sum;
  for (std::uint64_t i = 0; i < h.shape.length; ++i) {
    const std::byte b = h.expected(h.shape.offset + i);
    sum.add({&b, 1});
  }
  return sum.value();
}

/// Counts the effects of a transfer in the exposed memory, at the moment of its withdrawal.
void take_stock(haul_record& h) {
  const haul_shape& s = h.shape;
  const bool pushes = s.way == haul_way::push;
  const bool succeeded = std::any_of(h.transfers.begin(), h.transfers.end(), [](const transfer_record& t) {
    return t.done && !t.ended_by_crash && t.outcome.has_value();
  });
  h.memory.each([&](std::uint64_t offset, std::byte b) {
    const bool within = pushes && offset >= s.offset && offset - s.offset < s.length;
    const bool as_it_was = b == cargo(h.number, offset);
    const bool as_pushed = within && b == h.expected(offset);
    h.strange += !as_it_was && !as_pushed;
    h.pushed += !as_it_was && as_pushed;
    h.missing += within && succeeded && !as_pushed;
  });
}

/// Ends the exposure. From here on nothing may touch the memory.
void withdraw_now(haul_record& h, nanoseconds now) {
  h.is_ending = h.is_withdrawn = true;
  h.withdrawn_at = now;
  if (h.shape.ends_by_handle) {
    const memory_region last = std::move(h.exposed);
  } else {
    h.exposed.unexpose();
  }
  take_stock(h);
  h.memory.fill(withdrawn);
}

/// Ends the exposure of the successor. No descriptor ever named it, so its content must be unchanged.
void withdraw_successor(haul_record& h) {
  h.successor_exposed.unexpose();
  h.successor.each([&](std::uint64_t offset, std::byte b) {
    h.strange += b != cargo(h.number + successor_cargo, offset);
  });
  h.successor.fill(withdrawn);
}

memory_access access_of(const haul_shape& s) {
  const bool pushes = s.way == haul_way::push;
  if (s.twist == haul_twist::widened) return pushes ? memory_access::read : memory_access::write;
  if (s.wide) return memory_access::read_write;
  return pushes ? memory_access::write : memory_access::read;
}

result<memory_region> expose_pieces(node& at, lent_bytes& memory, memory_access access) {
  const auto pieces = memory.pieces<std::byte>();
  if (pieces.size() == 1) return expose(at, pieces.front(), access);
  return expose(at, pieces, access);
}

}  // namespace

// ---- the caller

void errands::begin(const events::haul& e) {
  life* const from = two_ends(e.from, e.to);
  if (from == nullptr) return;
  cluster_.seen().saw(mark::bulk_beside_broadcast, cluster_.broadcast_between(e.from, e.to));
  haul what;
  what.number = what.of = e.number;
  what.behaviour = e.behaviour;
  what.work_us = static_cast<std::uint32_t>(e.work.count());
  from->home.enter([&] {
    errand_record* const r = record(e.number, e.behaviour, *from, e.to);
    if (r == nullptr) return;
    r->moves_bulk = true;
    haul_record& h = hauls_[e.number];
    h.number = e.number;
    h.from = from;
    h.shape = shape_of(e.shape, std::min<std::uint64_t>(e.exposed_bytes, 1'000'000));
    ship_options options;
    options.stop = r->stop.token();
    r->deadline = e.deadline;
    if (r->deadline.count() != 0) options.deadline = r->deadline;
    if (has(e.behaviour, errand_bit::limited)) options.limit = &from->places;
    from->work.spawn(run(*from, *r, h, what, options));
  });
}

/// Exposes the memory and makes the descriptor, including the deliberate mistake if there is to be one.
status errands::prepare(node& by, haul_record& h, region_descriptor& into) {
  const haul_shape& s = h.shape;
  auto exposed = expose_pieces(by, h.memory, access_of(s));
  if (!exposed) return exposed.error();
  h.exposed = std::move(*exposed);
  into = h.exposed.descriptor();
  switch (s.twist) {
    case haul_twist::none: break;
    case haul_twist::widened: into.access = memory_access::read_write; break;
    case haul_twist::stretched: into.length = s.offset + s.length; break;
    case haul_twist::bygone: --into.incarnation; break;
    case haul_twist::invented: into.region += 1'000'000; break;
    case haul_twist::outdated: {
      withdraw_now(h, cluster_.world().now());
      h.successor = lent_bytes(s.bytes, 1);
      h.successor.load(h.number + successor_cargo, 0);
      auto next = expose_pieces(by, h.successor, memory_access::read_write);
      if (!next) return next.error();
      h.successor_exposed = std::move(*next);
    }
  }
  return {};
}

/// Registered memory is withdrawn in its own time, and released.
task<void> errands::withdraw(haul_record& h) {
  if (h.is_ending) co_return;
  const nanoseconds began = cluster_.world().now();
  if (h.hardware.rails() != 0) {
    h.is_ending = true;
    h.withdrawn_at = began;
    co_await h.exposed.withdraw();
    h.withdrawal = cluster_.world().now() - began;
  }
  withdraw_now(h, began);
}

task<void> errands::withdraw_later(haul_record& h) {
  co_await sleep_for(time_from_us(h.shape.withdrawn_after_us));
  co_await withdraw(h);
}

/// Registers memory if there is hardware for it, and if that is wanted.
task<registered_memory> errands::register_all(node& by, lent_bytes& memory, bool wanted) {
  if (!wanted || !cluster_.network_of_bulk().has_remote_memory()) co_return registered_memory();
  auto made = co_await register_memory(by, memory.all());
  if (!made) co_return registered_memory();
  co_return std::move(*made);
}

task<void> errands::run(life& from, errand_record& r, haul_record& h, haul what, ship_options options) {
  const time_point start = from.home.now();
  node& by = *from.member;
  h.memory = lent_bytes(h.shape.bytes, h.shape.pieces);
  h.memory.load(h.number, 0);
  h.hardware = co_await register_all(by, h.memory, h.shape.registered);
  const status ready = prepare(by, h, what.memory);
  if (!ready) {
    finish(from, r, start, ready.error(), false);
    co_await h.hardware.release();
    co_return;
  }
  if (h.shape.withdrawn_after_us != 0) from.work.spawn(withdraw_later(h));
  if (has(r.behaviour, errand_bit::notify)) {
    auto taken = co_await notify(by, r.to + 1, run_haul, what, options);
    finish(from, r, start, taken ? error{} : taken.error(), taken.may_have_executed());
    co_await sleep_for(time_from_us(h.shape.kept_for_us));
  } else {
    auto gave = co_await ship(by, r.to + 1, run_haul, what, options);
    r.garbled |= gave && gave->of != h.number;
    h.foreign_digest |= gave && h.shape.chunks_read == 0 && gave->digest != digest_of(h);
    finish(from, r, start, gave ? error{} : gave.error(), gave.may_have_executed());
  }
  co_await withdraw(h);
  withdraw_successor(h);
  co_await h.hardware.release();
}

// ---- the handler

task<result<receipt>> errands::handle(life& at, const haul& what, call_context& call) {
  const auto found = hauls_.find(what.of);
  const execution present(*this, at, call, what.number, what.behaviour, found != hauls_.end());
  if (found == hauls_.end()) co_return error(errc::malformed, "a haul that nobody sent");
  haul_record& h = found->second;
  const stop_token stop = has(what.behaviour, errand_bit::deaf) ? stop_token{} : call.stop();
  if (what.work_us != 0) {
    const status slept = co_await sleep_for(time_from_us(what.work_us), stop);
    if (!slept) co_return slept.error();
  }
  const std::uint32_t next = (at.host + 1) % cluster_.hosts();
  receipt gives;
  gives.of = what.of;
  // A client is known only to those that it has called.
  const bool relays = next != at.host && next != h.from->host && !cluster_.guests().contain(next) &&
                      !cluster_.guests().contain(h.from->host);
  if (has(what.behaviour, errand_bit::relayed) && relays) {
    ship_options options;
    options.deadline = call.remaining();
    options.stop = stop;
    auto gave = co_await ship_on(at, what, next, options);
    if (!gave) co_return gave.error();
    gives = *gave;
  } else {
    transfer_record& t = h.transfers.emplace_back();
    co_await transfer(at, h, t, what.memory, stop);
    if (!t.outcome) co_return t.outcome.error();
    gives.digest = t.digest;
  }
  if (has(what.behaviour, errand_bit::fails)) co_return error::user(told_to_fail, "told to fail");
  if (has(what.behaviour, errand_bit::throws)) throw std::runtime_error("told to throw");
  co_return gives;
}

/// Ships the haul on to a third host, which transfers from or to the first.
task<result<receipt>> errands::ship_on(life& at, const haul& what, std::uint32_t next, ship_options options) {
  haul further = what;
  further.number = first_relayed + what.number;
  further.behaviour = what.behaviour & static_cast<std::uint64_t>(errand_bit::deaf);
  errand_record* const r = record(further.number, further.behaviour, at, next);
  if (r == nullptr) co_return error(errc::already_exists, "a haul that was shipped on before");
  r->moves_bulk = true;
  const time_point start = at.home.now();
  auto gave = co_await ship(*at.member, next + 1, run_haul, further, options);
  finish(at, *r, start, gave ? error{} : gave.error(), gave.may_have_executed());
  if (!gave) co_return gave.error();
  co_return *gave;
}

}  // namespace scoll::sim
