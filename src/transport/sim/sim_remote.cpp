#include "transport/sim/sim_remote.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/sim/sim_link.hpp"
#include "transport/sim/sim_registrar.hpp"
#include "transport/sim/wire_time.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::testing {
namespace {

using transport::read_grant;
using transport::registered_piece;
using transport::remote_extent;
using transport::remote_read;

// How late the answers of the hardware come, at most.
constexpr nanoseconds answer_limit = std::chrono::microseconds(20);
// How long the hardware uses memory after the end of its link, at most.
constexpr nanoseconds fence_limit = std::chrono::milliseconds(2);
// How long a read is tried again.
constexpr nanoseconds retry_limit = std::chrono::milliseconds(500);

}  // namespace

sim_remote::sim_remote(sim_link& of, sim_rail& rail, std::uint32_t peer_host, std::uint32_t id)
    : rail_(rail),
      network_(rail.network_),
      home_(rail.home_),
      open_(rail.open_.pass()),
      link_(&of),
      peer_host_(peer_host),
      id_(id) {}

sim_remote::~sim_remote() {
  if (peer_ != nullptr) peer_->peer_ = nullptr;
  if (mover_.armed()) world().disarm(mover_);
  if (answers_.armed()) home_.disarm(answers_);
  if (fence_.armed()) home_.disarm(fence_);
}

sim_world& sim_remote::world() const noexcept {
  return network_.world_;
}

transport::memory_registrar& sim_remote::registrar() noexcept {
  return *rail_.registrar_;
}

nanoseconds sim_remote::some_time(nanoseconds most) noexcept {
  return nanoseconds(
      static_cast<std::int64_t>(world().random().below(static_cast<std::uint64_t>(most.count()))));
}

// ---- reads

void sim_remote::read(remote_read& what) noexcept {
  SCOLL_ASSERT(what.from.length == what.into.bytes.size() && what.from.length != 0 &&
                   rail_.registrar_->holds(what.into.local_key, what.into.bytes),
               "a read goes into registered memory of its size");
  posted_.push_back(what);
  if (mover_.armed() || fenced_ || buried_) return;
  world().arm(mover_, world().now() + 2 * network_.way(rail_.host_, peer_host_).model.latency);
}

/// True if the hardware of the peer can answer now.
bool sim_remote::reachable() const noexcept {
  const nanoseconds now = world().now();
  return peer_ != nullptr && peer_->link_ != nullptr && !peer_->fenced_ && !peer_->buried_ &&
         !network_.is_frozen(rail_.host_) && !network_.is_frozen(peer_host_) &&
         network_.way(rail_.host_, peer_host_).blocked_until <= now &&
         network_.way(peer_host_, rail_.host_).blocked_until <= now;
}

/// The memory behind a part of an extent; null if no right to all of it is in force.
const std::byte* sim_remote::granted(const remote_extent& from, std::size_t offset,
                                     std::size_t size) const noexcept {
  const std::uint64_t begin = from.address + offset;
  for (const right& r : rights_) {
    for (std::size_t i = 0; i < r.count; ++i) {
      const remote_extent& e = r.extents[i];
      if (e.key == from.key && begin >= e.address && begin + size <= e.address + e.length)
        return r.memory[i] + (begin - e.address);
    }
  }
  return nullptr;
}

/// Moves a piece of the first read.
void sim_remote::move() noexcept {
  if (posted_.empty()) return;
  if (!reachable()) return wait_for_peer();
  stuck_since_ = nanoseconds(-1);
  remote_read& first = posted_.front();
  const std::size_t size = std::min(network_.chunk_bytes_, first.into.bytes.size() - moved_);
  const std::byte* const from = peer_->granted(first.from, moved_, size);
  if (from == nullptr) {
    ++network_.access_errors_;
    if (link_ != nullptr) link_->fail({errc::malformed, "a read of memory to which there is no right"});
    return;
  }
  std::memcpy(first.into.bytes.data() + moved_, from, size);
  moved_ += size;
  network_.bytes_carried_ += size;
  if (moved_ == first.into.bytes.size()) landed();
  const sim_path& way = network_.way(peer_host_, rail_.host_);
  const std::uint64_t narrowing = world().now() < way.narrow_until ? way.narrowing : 1;
  const nanoseconds wire = byte_time(size, way.model.ps_per_byte * narrowing);
  if (!posted_.empty()) world().arm(mover_, world().now() + std::max(wire, nanoseconds(100)));
}

void sim_remote::wait_for_peer() noexcept {
  constexpr nanoseconds pause = std::chrono::milliseconds(5);
  const nanoseconds now = world().now();
  if (stuck_since_ < nanoseconds(0)) stuck_since_ = now;
  if (now - stuck_since_ < retry_limit) return world().arm(mover_, now + pause);
  if (link_ != nullptr) link_->fail({errc::connection_lost, "reads of the peer's memory are not answered"});
}

void sim_remote::landed() noexcept {
  remote_read& done = posted_.pop_front();
  moved_ = 0;
  world().record(sim_trace::delivery, rail_.host_, (std::uint64_t{peer_host_} << 32) | done.from.length,
                 wire::checksum(done.into.bytes));
  landed_.push_back(done);
  answer_later();
}

// ---- rights

void sim_remote::grant(read_grant& grant, std::span<const registered_piece> pieces) noexcept {
  right r{&grant, {}, {}, pieces.size()};
  const std::uint32_t key = ++network_.last_key_;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::span<std::byte> bytes = pieces[i].bytes;
    SCOLL_ASSERT(rail_.registrar_->holds(pieces[i].remote_key, bytes), "a right is to registered memory");
    // Addresses are made up, because those of real memory are not the same in every run.
    r.extents[i] = {(std::uint64_t{key} << 34) + (std::uint64_t{i} << 32), key,
                    static_cast<std::uint32_t>(bytes.size())};
    r.memory[i] = bytes.data();
  }
  if (!fenced_) rights_.push_back(r);
  granting_.push_back(grant);
  answer_later();
}

void sim_remote::end(read_grant& grant) noexcept {
  std::erase_if(rights_, [&](const right& r) { return r.grant == &grant; });
  grant.unlink();
  ending_.push_back(grant);
  answer_later();
}

// ---- answers

void sim_remote::answer_later() noexcept {
  if (!answers_.armed()) home_.arm(answers_, home_.now() + some_time(answer_limit));
  home_.touch();
}

void sim_remote::answer() noexcept {
  reads done;
  grants granted, ended;
  done.splice(landed_);
  granted.splice(granting_);
  ended.splice(ending_);
  while (!done.empty()) done.pop_front().complete({});
  while (!granted.empty()) {
    read_grant& g = granted.pop_front();
    in_force_.push_back(g);
    const auto its = std::ranges::find(rights_, &g, &right::grant);
    if (its == rights_.end()) continue;  // fenced: it ends with the link
    const right told = *its;
    g.on_granted(told.view());
  }
  while (!ended.empty()) ended.pop_front().on_ended();
}

// ---- the end

void sim_remote::cut() noexcept {
  if (link_ != nullptr) link_->fail({errc::connection_lost, "the link was cut to end the use of memory"});
}

void sim_remote::cut_now() noexcept {
  cut();
  fenced_ = true;
  rights_.clear();
  if (mover_.armed()) world().disarm(mover_);
}

void sim_remote::bury() noexcept {
  buried_ = true;
  if (mover_.armed()) world().disarm(mover_);
}

void sim_remote::link_ended() noexcept {
  link_ = nullptr;
  home_.arm(fence_, home_.now() + some_time(fence_limit));
  home_.touch();
}

/// The hardware has let go of all memory.
void sim_remote::fence() noexcept {
  cut_now();
  const status lost = error(errc::connection_lost, "the connection broke before the memory was read");
  while (!landed_.empty()) landed_.pop_front().complete({});
  while (!posted_.empty()) posted_.pop_front().complete(lost);
  for (grants* all : {&granting_, &in_force_, &ending_}) {
    while (!all->empty()) all->pop_front().on_ended();
  }
  delete this;
}

}  // namespace scoll::testing
