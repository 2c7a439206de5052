#pragma once

#include <cstddef>
#include <cstdint>

namespace scoll::transport {

/// Counters for tests and status pages; they only grow.
struct endpoint_statistics {
  std::uint64_t frames_sent = 0, frames_received = 0;
  std::uint64_t requests_sent = 0, replies_sent = 0;
  std::uint64_t notices_sent = 0, notices_received = 0;
  /// Notices that said nothing that this node knows.
  std::uint64_t notices_dropped = 0;
  /// Batches handed to links.
  std::uint64_t writes = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  /// Bytes sent in batches: all but lent memory. TCP copies them, but for large payloads that the socket
  /// takes at once.
  std::uint64_t bytes_copied = 0;
  std::uint64_t acknowledges_sent = 0;
  std::uint64_t probes_sent = 0, probes_answered = 0;
  /// Sessions that ended because the peer was silent.
  std::uint64_t silences = 0;
  /// Links replaced because the peer was there and they were dead.
  std::uint64_t links_half_dead = 0;
  /// How often a peer, when nothing was under way either way, worked at fewer requests than waited here for
  /// it. Somebody waits for nothing: a bug, here or there.
  std::uint64_t answers_missing = 0;
  /// Links broken off because the peer answered probes and acknowledged nothing.
  std::uint64_t links_stuck = 0;
  /// How often messages went over from one path of a peer to another, and how often paths were suspected and
  /// died.
  std::uint64_t path_moves = 0, path_suspicions = 0, path_deaths = 0;
  /// Connections for bulk that have begun to share the work with others of the same peer, and the most
  /// segments that one of them has held.
  std::uint64_t stripes_joined = 0, stripe_most = 0;
  /// Payloads of which another copy landed or had arrived, and cancels that had overtaken other messages.
  std::uint64_t landings_cut = 0, cancels_held = 0;
  /// How often one of this node's own rails was taken for dead.
  std::uint64_t rail_deaths = 0;
  /// What own network interfaces have hinted at: that they are down, or back.
  std::uint64_t rail_hints = 0;
  /// Links of peers with several paths that broke or were cut here, and those that ended because the peer had
  /// told so over another one.
  std::uint64_t links_cut = 0, links_ended_as_told = 0;
  /// Frames that tell peers the ends of links, and those of peers.
  std::uint64_t link_downs_sent = 0, link_downs_received = 0;
  /// Frames sent again on a new link.
  std::uint64_t replays = 0;
  /// Frames received again and dropped.
  std::uint64_t duplicates = 0;
  /// Replies that came when their exchange had ended.
  std::uint64_t late_replies = 0;
  /// Links that this endpoint refused at the handshake.
  std::uint64_t links_refused = 0;
  /// Links broken off because the peer violated the protocol.
  std::uint64_t links_broken = 0;
  /// Handshakes that either side has refused, and links broken off, because the other one had not proven who
  /// it was.
  std::uint64_t not_authentic = 0;
  std::uint64_t sessions_lost = 0;
  /// Places of clients that became free, and sessions with idle clients that ended because they were silent.
  std::uint64_t clients_gone = 0, clients_silent = 0;
  /// How often the exchanges of class bulk with a peer ended alone, because its bulk connection was lost.
  std::uint64_t bulk_lost = 0;
  /// Ranges of peers' memory that were read by hardware, and their bytes.
  std::uint64_t reads = 0, read_bytes = 0;
  /// Rights to read this node's memory that were given, and those that were recalled.
  std::uint64_t grants = 0, recalls = 0;
  /// Spans of memory that were registered.
  std::uint64_t registrations = 0;
  /// Bytes that were copied through slabs, because their memory is not registered.
  std::uint64_t staged_bytes = 0;
  /// How often the memory of a right or a read was taken back without a wait (docs/lifetimes.md).
  std::uint64_t forced_fences = 0;
};

/// What an endpoint uses at one moment. Buffers are counted over all endpoints that share them.
struct endpoint_usage {
  /// A number in use, and the most that there may be; a `most` of 0 stands for no bound of its own.
  struct share {
    std::size_t used = 0;
    std::size_t most = 0;
  };

  /// Messages that are queued, or not acknowledged.
  share messages;
  /// Buffers for payloads that do not fit in a message, and small ones for payloads that are kept.
  share payloads, small_payloads;
  /// Accepted connections that have not introduced themselves.
  share handshakes;
  /// Clients that have a place.
  share clients;
  /// Notices that have not been handed to a link.
  share notices;
  /// Memory regions that are exposed.
  share regions;
  /// Buffers for small segments of bulk data.
  share transfer_buffers;
  /// Orders of peers for pieces that are not there yet.
  share parked_orders;
};

}  // namespace scoll::transport
