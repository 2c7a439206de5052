#include "scoll/bulk/stream.hpp"
#include "scoll/coro/sleep.hpp"
#include "tools/scoll-sim/calls/errand_execution.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using testing::sim_trace;

time_limit limit_of(const haul_shape& s) {
  return s.deadline_us != 0 ? time_limit(microseconds(s.deadline_us)) : time_limit();
}

transfer_options transfer_options_of(const haul_shape& s, stop_token stop) {
  return {limit_of(s), stop, s.depth, s.chunk, s.verify};
}

stream_options stream_options_of(const haul_shape& s, stop_token stop) {
  stream_options options;
  options.deadline = limit_of(s);
  options.stop = stop;
  if (s.chunk != 0) options.chunk_bytes = s.chunk;
  if (s.depth != 0) options.depth = s.depth;
  options.checked = s.verify;
  return options;
}

/// Notes when a transfer is told to stop.
struct stop_notice {
  testing::sim_world& world;
  transfer_record& of;
  static void note(void* self) noexcept {
    auto& notice = *static_cast<stop_notice*>(self);
    notice.of.stopped = notice.world.now();
  }
};

/// Counts the bytes of a chunk that differ from the exposed ones.
std::uint64_t strange_in(std::span<const std::byte> chunk, const haul_record& h, std::uint64_t from) {
  std::uint64_t strange = 0;
  for (std::size_t i = 0; i < chunk.size(); ++i) strange += chunk[i] != h.expected(from + i);
  return strange;
}

/// Checks that a chunk does not change while its handler works on it.
task<push_status> read_stream(node& by, haul_record& h, transfer_record& t, region_descriptor from,
                              stop_token stop) {
  const haul_shape& s = h.shape;
  bulk_stream chunks(by, from, s.offset, s.length, stream_options_of(s, stop));
  wire::checksum_stream sum;
  std::uint64_t at = s.offset;
  for (std::uint32_t read = 0; s.chunks_read == 0 || read < s.chunks_read; ++read) {
    auto chunk = co_await chunks.next();
    if (!chunk) co_return push_status(chunk.error(), false);
    if (chunk->empty()) break;
    co_await sleep_for(microseconds(s.chunk_work_us));
    t.strange += strange_in(*chunk, h, at);
    at += chunk->size();
    sum.add(*chunk);
  }
  if (s.chunks_read == 0) t.missing = s.offset + s.length - at;
  t.digest = sum.value();
  co_return push_status({}, false);
}

/// Checks the local memory when the await of a pull has returned.
void look_at(const haul_record& h, transfer_record& t) {
  wire::checksum_stream sum;
  t.local.each([&](std::uint64_t offset, std::byte b) {
    const bool arrived = b == h.expected(h.shape.offset + offset);
    t.missing += !arrived;
    t.strange += !arrived && b != never_filled;
    sum.add({&b, 1});
  });
  t.digest = sum.value();
}

}  // namespace

task<void> errands::transfer(life& at, haul_record& h, transfer_record& t, region_descriptor from,
                             stop_token stop) {
  const haul_shape& s = h.shape;
  node& by = *at.member;
  const transfer_options options = transfer_options_of(s, stop);
  const time_point start = at.home.now();
  t.at = &at;
  t.began = cluster_.world().now();
  t.began_late = h.is_withdrawn;
  stop_notice heard{cluster_.world(), t};
  const stop_callback told(stop, &stop_notice::note, &heard);
  push_status outcome({}, false);
  if (s.way == haul_way::stream) {
    outcome = co_await read_stream(by, h, t, from, stop);
  } else {
    t.local = lent_bytes(s.length, s.local_pieces);
    t.local.fill(never_filled);
    t.hardware = co_await register_all(by, t.local, s.local_registered);
    if (s.way == haul_way::pull) {
      const auto into = t.local.pieces<std::byte>();
      status pulled;
      if (into.size() == 1) {
        pulled = co_await pull(by, from, s.offset, into.front(), options);
      } else {
        pulled = co_await pull(by, from, s.offset, into, options);
      }
      outcome = push_status(pulled, false);
    } else {
      t.local.load(h.number + haul_record::pushed_cargo, s.offset);
      const auto source = t.local.pieces<const std::byte>();
      if (source.size() == 1) {
        outcome = co_await push(by, from, s.offset, source.front(), options);
      } else {
        outcome = co_await push(by, from, s.offset, source, options);
      }
    }
    look_at(h, t);
    t.local.fill(await_returned);
  }
  finish(h, t, start, outcome);
  co_await t.hardware.release();
}

/// Marks what happens to registered memory only.
void errands::note_hardware(const haul_record& h, const transfer_record& t) {
  if (!cluster_.network_of_bulk().has_remote_memory() || h.shape.length <= transport::placed_payload_bytes)
    return;
  const bool local = t.hardware.rails() != 0;
  const errc how = t.outcome ? errc::ok : t.outcome.error().code();
  coverage& seen = cluster_.seen();
  seen.saw(mark::read_registered, h.shape.registered && local && how == errc::ok);
  seen.saw(mark::withdrawn_while_read,
           h.shape.registered && how == errc::stale_descriptor && h.is_ending && t.began < h.withdrawn_at);
  seen.saw(mark::stopped_while_read, local && how == errc::cancelled && t.ended > t.stopped);
}

void errands::finish(haul_record& h, transfer_record& t, time_point local_start, const push_status& outcome) {
  t.done = true;
  t.ended_by_crash = !recording_ || t.at->crashed;
  t.outcome = outcome;
  t.may_have_written = outcome.may_have_written();
  t.ended = cluster_.world().now();
  t.took = t.at->home.now() - local_start;
  if (!recording_) return;
  const bool lost =
      !outcome && (outcome.error() == errc::connection_lost || outcome.error() == errc::unreachable);
  cluster_.seen().saw(mark::bulk_transport_lost, lost && cluster_.bulk_is_out(t.at->host, h.from->host));
  note_hardware(h, t);
  const auto code = outcome ? 0 : static_cast<std::uint64_t>(outcome.error().code());
  cluster_.world().record(sim_trace::note, t.at->host, h.number, code);
}

}  // namespace scoll::sim
