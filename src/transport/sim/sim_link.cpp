#include "transport/sim/sim_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/sim/wire_time.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::testing {
namespace {

// The bytes that a wire holds before its sender must wait, as a socket's buffers would.
constexpr std::size_t pipe_bytes = 262144;
// How long written bytes may stay without an answer.
constexpr nanoseconds user_timeout = std::chrono::seconds(5);
// After this long a connection whose peer is silent is given up, as TCP does with keep-alive probes.
constexpr nanoseconds keep_alive = std::chrono::seconds(10);

}  // namespace

sim_link::sim_link(sim_rail& owner, std::uint32_t remote) noexcept
    : rail_(owner),
      open_(owner.open_.pass()),
      remote_(remote),
      assembler_(owner.network_.frames_),
      timer_(*this) {
  network().links_.push_back(*this);
}

void sim_link::write(std::span<const transport::frame_parts> frames) noexcept {
  SCOLL_ASSERT(writable(), "a link takes one batch at a time");
  if (std::exchange(repeats_, false)) network().repeat_later(host(), remote_, frames);
  const bool forges = outward().forge_next != 0 && guard_ != nullptr;
  if (!seals() && !forges) return put_out(frames);
  const transport::frame_parts whole{seals() ? sealed(frames) : forged(frames), {}};
  put_out({&whole, 1});
}

void sim_link::put_out(std::span<const transport::frame_parts> frames) noexcept {
  if (network().listens_in_ && guard_ != nullptr && !guard_->announces())
    network().overhear(pair_, remote_, !std::exchange(heard_, true), frames);
  if (peer_ != nullptr && loses_all_) {
    // What is written is lost, and its writer does not learn of it.
  } else if (peer_ != nullptr) {
    transmit(frames);
    blocked_ = peer_ != nullptr && peer_->queued_bytes_ >= pipe_bytes;
  } else if (silent_) {
    const bool answered = network().is_up(remote_) && outward().blocked_until <= world().now();
    end_after(answered ? 2 * outward().model.latency : user_timeout,
              {errc::connection_lost, answered ? "connection reset" : "no acknowledgement from the peer"});
  }
  if (!blocked_) home().schedule(drained_);
}

void sim_link::transmit(std::span<const transport::frame_parts> frames) noexcept {
  const sim_path& way = outward();
  const sim_link_model& model = way.model;
  const nanoseconds now = world().now();
  nanoseconds& sending_until = network().sending_until_[host()];
  const nanoseconds departs = std::max(now, sending_until) + model.overhead;
  const auto jitter = static_cast<std::uint64_t>(model.jitter.count());
  nanoseconds latency =
      model.latency + nanoseconds(static_cast<std::int64_t>(world().random().below(jitter + 1)));
  if (now < way.slow_until) latency += way.extra;
  const std::uint64_t ps_per_byte = model.ps_per_byte * (now < way.narrow_until ? way.narrowing : 1);
  std::size_t sent = 0;
  nanoseconds arrived = departs + latency;
  const auto send = [&](std::span<const std::byte> piece) {
    sent += piece.size();
    const nanoseconds begins = std::exchange(arrived, departs + latency + byte_time(sent, ps_per_byte));
    send_piece(piece, begins, arrived);
  };
  // A host that takes in streams by turns has to know when each chunk arrives, not only the whole piece.
  const std::size_t longest = model.ingress ? network().chunk_bytes_ : SIZE_MAX;
  for (const transport::frame_parts& f : frames) {
    f.each_piece([&](std::span<const std::byte> piece) {
      for (; piece.size() > longest; piece = piece.subspan(longest)) send(piece.first(longest));
      send(piece);
    });
  }
  if (model.sender_busy) home().occupy(model.overhead);
  sending_until = departs + std::max<nanoseconds>(model.gap - model.overhead, nanoseconds(0)) +
                  byte_time(sent, ps_per_byte);
  if (peer_ != nullptr) peer_->wake();
}

void sim_link::send_piece(std::span<const std::byte> bytes, nanoseconds begins, nanoseconds due) noexcept {
  while (!bytes.empty() && peer_ != nullptr) {
    chunk* const into = peer_->tail(begins, due);
    if (into == nullptr) return break_both({errc::connection_lost, "the network ran out of buffers"});
    bytes = peer_->put(*into, bytes, due);
  }
}

/// Fills a chunk of this end's queue. Returns the bytes that did not fit.
std::span<const std::byte> sim_link::put(chunk& into, std::span<const std::byte> bytes,
                                         nanoseconds due) noexcept {
  const std::size_t n = std::min(bytes.size(), network().chunk_bytes_ - into.size);
  std::memcpy(into.bytes.data() + into.size, bytes.data(), n);
  into.size += n;
  into.due = std::max(into.due, due);
  queued_bytes_ += n;
  network().bytes_carried_ += n;
  return bytes.subspan(n);
}

void sim_link::receive_from_nobody(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    chunk* const into = tail(world().now(), world().now());
    if (into == nullptr) break;
    bytes = put(*into, bytes, world().now());
  }
  deafen();
}

/// The chunk for bytes that arrive from `begins` to `due`. Pieces of one batch share a chunk.
sim_link::chunk* sim_link::tail(nanoseconds begins, nanoseconds due) noexcept {
  constexpr nanoseconds batch = std::chrono::microseconds(5);
  if (queue_.empty() || queue_.back().due + batch < due || queue_.back().size == network().chunk_bytes_ ||
      (timer_.pending() && queue_.size() == 1)) {
    transport::buffer_ref bytes = network().chunks_.try_acquire();
    if (!bytes) return nullptr;
    const nanoseconds after = queue_.empty() ? nanoseconds(0) : queue_.back().due;
    network().queue_growths_ += queue_.push_back({std::move(bytes), 0, begins, std::max(due, after)});
  }
  return &queue_.back();
}

void sim_link::on_drained() noexcept {
  if (owner_ != nullptr) owner_->on_writable();
}

void sim_link::unblock() noexcept {
  if (!std::exchange(blocked_, false)) return;
  home().schedule(drained_);
  home().touch();
}

void sim_link::close() noexcept {
  owner_ = nullptr;
  if (peer_ != nullptr) {
    loses_all_ ? peer_->deafen()
               : peer_->end_after_queue({errc::connection_lost, "the peer closed the connection"});
  }
  die();
}

/// What is under way either way is lost. The other end is told, unless nothing gets through to it.
void sim_link::sever() noexcept {
  owner_ = nullptr;
  sim_link* const other = std::exchange(peer_, nullptr);
  const bool gets_through = !loses_all_ && outward().blocked_until <= world().now();
  if (other != nullptr) {
    other->drop_queue();
    gets_through ? other->end_after_queue({errc::connection_lost, "connection reset"}) : other->deafen();
  }
  die();
}

void sim_link::expect_bulk() noexcept {
  if (rail_.registrar_ == nullptr || access_ != nullptr) return;
  access_ = new sim_remote(*this, rail_, remote_, pair_);
  if (peer_ != nullptr && peer_->access_ != nullptr) sim_remote::join(*access_, *peer_->access_);
}

void sim_link::fail(const error& reason) noexcept {
  if (peer_ != nullptr) return break_both(reason);
  end_after(nanoseconds(0), reason);
}

void sim_link::break_both(const error& reason) noexcept {
  if (sim_link* const other = std::exchange(peer_, nullptr)) {
    other->peer_ = nullptr;
    other->reset(reason);
    other->unblock();
  }
  reset(reason);
  unblock();
}

void sim_link::half_open(const error& reason) noexcept {
  std::exchange(peer_, nullptr)->deafen();
  reset(reason);
  unblock();
}

void sim_link::lose_all() noexcept {
  for (sim_link* end : {this, peer_}) {
    end->loses_all_ = true;
    end->drop_queue();
    end->unblock();
  }
}

void sim_link::bury(sim_crash how) noexcept {
  if (sim_link* const other = std::exchange(peer_, nullptr)) {
    if (how == sim_crash::silent) {
      other->deafen();
    } else {
      other->end_after_queue({errc::connection_lost, "connection reset: the peer's process died"});
    }
  }
  if (access_ != nullptr) access_->bury();
  silent_ = false;
  ending_.reset();
  drop_queue();
  timer_.cancel();
  unblock();
}

/// Tells this end that the connection is gone. The other end does not learn of it.
void sim_link::reset(const error& reason) noexcept {
  drop_queue();
  end_after(outward().model.latency, reason);
}

/// The other end is gone, and this one does not know.
void sim_link::deafen() noexcept {
  peer_ = nullptr;
  silent_ = true;
  end_after(keep_alive, {errc::connection_lost, "the peer does not answer"});
  unblock();
}

void sim_link::drop_queue() noexcept {
  queue_.clear();
  queued_bytes_ = 0;
  timer_.cancel();
}

/// Ends the connection after a time. The earliest of several such times holds.
void sim_link::end_after(nanoseconds d, const error& reason) noexcept {
  const nanoseconds at = world().now() + d;
  if (ending_ != nullptr && ending_->at <= at) return wake();
  ending_ = std::make_unique<ending>(ending{at, reason});
  if (queue_.empty()) timer_.cancel();
  wake();
}

void sim_link::end_after_queue(const error& reason) noexcept {
  peer_ = nullptr;
  unblock();
  end_after(inward().model.latency, reason);
}

void sim_link::finish(error reason) noexcept {  // a copy, because it may be a member of this link
  world().record(sim_trace::broken, host(), remote_, static_cast<std::uint64_t>(reason.code()));
  transport::link_events* const owner = std::exchange(owner_, nullptr);
  die();
  if (owner != nullptr) owner->on_closed(reason);
}

void sim_link::die() noexcept {
  if (peer_ != nullptr) peer_->peer_ = nullptr;
  if (passage_ != nullptr) passage_->alive = false;
  if (access_ != nullptr) access_->link_ended();
  timer_.cancel();
  home().unschedule(drained_);
  delete this;
}

void sim_link::wake() noexcept {
  if (timer_.pending() || (queue_.empty() && ending_ == nullptr) || network().is_frozen(host())) return;
  world().arm(timer_, queue_.empty() ? ending_->at : queue_.front().due);
}

/// Something is due. It is delivered unless the path is blocked or the host is busy; then it waits.
void sim_link::arrive() noexcept {
  if (network().is_frozen(host())) return;
  const nanoseconds now = world().now();
  const bool comes_from_peer = !queue_.empty() || peer_ != nullptr;
  if (comes_from_peer && inward().blocked_until > now)
    return world().arm(timer_, inward().blocked_until + retransmission);
  if (!queue_.empty() && inward().model.ingress) {
    take_in(queue_.front());
    if (queue_.front().due > now) return world().arm(timer_, queue_.front().due);
  }
  if (home().available_at() > now) return home().when_available(timer_);
  home().occupy(inward().model.overhead);
  home().enter([this]() noexcept { deliver(); });
}

/// The host takes in a chunk after all that it has begun to take in, from whatever stream.
void sim_link::take_in(chunk& c) noexcept {
  if (std::exchange(c.taken, true)) return;
  nanoseconds& until = network().taking_until_[host()];
  until = std::max(until, c.begins) + byte_time(c.size, inward().model.ps_per_byte);
  c.due = std::max(c.due, until);
}

void sim_link::deliver() noexcept {
  if (queue_.empty()) return finish(ending_->reason);
  chunk c = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= c.size;
  taken_ += c.size;
  // An acknowledgement that does not get through is repeated by a later one.
  if (peer_ != nullptr && outward().blocked_until <= world().now()) peer_->acknowledged_ = taken_;
  if (peer_ != nullptr && queued_bytes_ < pipe_bytes) peer_->unblock();
  const std::span<std::byte> bytes(c.bytes.data(), c.size);
  corrupt(bytes);
  world().record(sim_trace::delivery, host(), (std::uint64_t{remote_} << 32) | c.size, wire::checksum(bytes));
  if (network().tamper_ && !network().tamper_(remote_, host(), bytes))
    return break_both({errc::connection_lost, "the connection was cut"});
  passage now;
  passage_ = &now;
  const status s = feed(c.bytes, bytes, now);
  if (!now.alive) return;
  passage_ = nullptr;
  if (now.cut) return break_both({errc::connection_lost, "the connection was cut"});
  if (s) return wake();
  if (peer_ != nullptr) peer_->end_after_queue({errc::connection_lost, "the peer dropped the connection"});
  finish(s.error());
}

/// With the last frame in the clear a guard begins to open what follows.
status sim_link::feed(const transport::buffer_ref& from, std::span<const std::byte> bytes,
                      passage& now) noexcept {
  if (opens()) return open_sealed(bytes, now);
  assembler_.set_owner(owner_);
  const status s = assembler_.feed_some(
      from, bytes, [&](transport::frame_view& frame) { return hand_over(frame, now) && !opens(); });
  if (!s || !now.alive || now.cut || !opens()) return s;
  return open_sealed(bytes, now);
}

/// True if the link may go on. It may be gone already.
bool sim_link::hand_over(transport::frame_view& frame, passage& now) noexcept {
  note_unbound(frame);
  if (owner_ != nullptr) owner_->on_frame(frame);
  if (!now.alive) return false;
  assembler_.set_owner(owner_);  // an identity hands the link over
  now.cut = last_before_cut();
  return !now.cut;
}

bool sim_link::last_before_cut() noexcept {
  if (inward().cut_after == 0) return false;
  return --network().path(remote_, host()).cut_after == 0;
}

void sim_link::corrupt(std::span<std::byte> bytes) noexcept {
  if (inward().corrupt_next == 0 || bytes.empty()) return;
  --network().path(remote_, host()).corrupt_next;
  const std::uint64_t position = world().random().below(bytes.size());
  const std::uint64_t flipped = 1 + world().random().below(255);
  bytes[position] ^= static_cast<std::byte>(flipped);
}

}  // namespace scoll::testing
