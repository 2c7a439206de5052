#pragma once

#include <cstddef>
#include <cstdint>

#include "scoll/coro/time.hpp"

/// Limits of sessions and lanes that are neither options nor part of the wire format.
namespace scoll::transport::limits {

/// The most frames that one batch hands to a link; the others wait for the link's next batch.
inline constexpr std::size_t batch_frames = 64;

/// From so many bytes on a payload is worth a system call that spares a copy of it: where it is sent, and where its
/// frame is collected.
inline constexpr std::size_t large_payload_bytes = 16384;

/// After this many received messages an acknowledgement is sent at once. Fewer are acknowledged with the next
/// frame to the peer, or after `endpoint_options::acknowledge_delay`.
inline constexpr std::uint64_t acknowledge_every = 16;

/// The most sent messages that a lane keeps for replay until they are acknowledged. So a peer that grants
/// credit and never acknowledges cannot make this side keep more: nothing more is sent to it until it does.
inline constexpr std::size_t retained_messages = 4096;

/// The pauses between connection attempts of a lost bulk lane grow up to this, or to `backoff_limit` if that
/// is longer, as long as nobody waits for the lane.
inline constexpr nanoseconds lost_lane_pause = std::chrono::seconds(1);

/// The time between two looks at the sessions that await something.
inline constexpr nanoseconds watch_interval = std::chrono::milliseconds(50);

/// The time between two probes of a peer while messages come and go.
inline constexpr nanoseconds busy_probe_interval = std::chrono::milliseconds(100);

/// A connection whose peer has answered no probe for this long gets another one beside it, which shows whether
/// the peer or the connection is gone; and once more after each such time.
inline constexpr nanoseconds silent_link = std::chrono::seconds(1);

/// A peer of which something is awaited, and that has answered no probe for this long, stands still. The grace
/// of class bulk does not count that time.
inline constexpr nanoseconds standstill = std::chrono::milliseconds(200);

/// A session whose connection has been broken off so often, because the same message was not acknowledged
/// over it, is lost.
inline constexpr std::uint32_t most_times_stuck = 3;

/// How long a server whose id another one claims may leave probes unanswered; then the other one has the id.
inline constexpr nanoseconds id_contest = std::chrono::seconds(3);

/// The most notices of an endpoint that have not been handed to a link.
inline constexpr std::size_t queued_notices = 1024;

/// The most requests of one class that may be under way to a peer, whatever window the peer's hello offers.
inline constexpr std::uint32_t window = 65536;

/// The most orders of one peer for pieces of one region that wait until the piece is there.
inline constexpr std::size_t parked_per_peer = 8;

/// The pauses before an order for a piece that was answered `busy` is sent again.
inline constexpr nanoseconds piece_retry_first = std::chrono::milliseconds(1);
inline constexpr nanoseconds piece_retry_limit = std::chrono::milliseconds(50);

/// A right to read memory that has been recalled and is not released within this ends with its link.
inline constexpr nanoseconds recall_limit = std::chrono::milliseconds(50);

/// A stopped transfer waits for at most this long until hardware has let go of its memory; then the link is
/// cut.
inline constexpr nanoseconds fence_limit = std::chrono::milliseconds(50);

/// A right to a slab that is out for this long, while others wait for slabs, is recalled.
inline constexpr nanoseconds right_limit = std::chrono::seconds(1);

/// A segment whose rights have ended this often before they were used, because of their connections or by
/// recalls, fails its transfer.
inline constexpr unsigned read_attempts = 8;

}  // namespace scoll::transport::limits
