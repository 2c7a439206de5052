#include "transport/sim/sim_remote.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/sim/sim_link.hpp"
#include "transport/sim/wire_time.hpp"

namespace scoll::testing {

namespace {

// How often a READ is tried again that something holds up.
constexpr nanoseconds held_up = std::chrono::milliseconds(1);

}  // namespace

using transport::read_grant;
using transport::registered_piece;
using transport::registration;
using transport::remote_extent;
using transport::remote_read;

// ---- the registrar

sim_registrar::sim_registrar(sim_executor& home, const sim_remote_options& options) : home_(home) {
  fill(outgoing_, options);
  fill(incoming_, options);
}

sim_registrar::~sim_registrar() {
  home_.unschedule(telling_);
}

void sim_registrar::fill(transport::slab_pool& pool, const sim_remote_options& options) {
  for (std::size_t i = 0; i < options.slabs; ++i) {
    memory_.emplace_back(new std::byte[options.slab_bytes]);
    own_.push_back(std::make_unique<registration>());
    const std::span<std::byte> bytes(memory_.back().get(), options.slab_bytes);
    enter(*own_.back(), bytes);
    pool.add({bytes, own_.back().get()});
  }
}

/// The upper part of a key says where it is, the lower 8 bits whose turn it is there: they come back.
void sim_registrar::enter(registration& r, std::span<std::byte> memory) noexcept {
  const std::uint32_t key = ++last_key_;
  entered_[key] = memory;
  r.entered(memory, key);
}

void sim_registrar::add(registration& r, std::span<std::byte> memory) noexcept {
  enter(r, memory);
  changed_.push_back(&r);
  if (!telling_.scheduled()) home_.schedule(telling_);
}

void sim_registrar::remove(registration& r) noexcept {
  entered_.erase(r.key());
  changed_.push_back(&r);
  if (!telling_.scheduled()) home_.schedule(telling_);
}

void sim_registrar::tell() noexcept {
  for (registration* r : std::exchange(changed_, {})) r->tell({});
}

std::span<std::byte> sim_registrar::find(const remote_extent& e) const noexcept {
  const auto at = entered_.find(e.key);
  if (at == entered_.end()) return {};
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(at->second.data());
  if (e.address < begin || e.address - begin > at->second.size()) return {};
  const auto offset = static_cast<std::size_t>(e.address - begin);
  return e.length <= at->second.size() - offset ? at->second.subspan(offset, e.length)
                                                : std::span<std::byte>();
}

// ---- one end of a link

sim_remote::sim_remote(sim_rail& rail, sim_link& link, std::uint32_t id)
    : rail_(rail), open_(rail.open_.pass()), link_(&link), id_(id), clock_(*this) {
  static_cast<void>(rail.registrar());
}

sim_remote::~sim_remote() {
  if (clock_.armed()) world().disarm(clock_);
  rail_.home_.unschedule(telling_);
  if (other_ != nullptr) other_->other_ = nullptr;
}

void sim_remote::join(sim_link& a, sim_link& b) {
  const std::uint32_t id = ++a.rail().network_.last_link_id_;
  auto* const first = new sim_remote(a.rail(), a, id);
  auto* const second = new sim_remote(b.rail(), b, id);
  first->other_ = second;
  second->other_ = first;
  a.set_remote(first);
  b.set_remote(second);
}

transport::memory_registrar& sim_remote::registrar() noexcept {
  return *rail_.registrar();
}

nanoseconds sim_remote::draw(nanoseconds most) const noexcept {
  const auto bound = static_cast<std::uint64_t>(most.count());
  return nanoseconds(static_cast<std::int64_t>(world().random().below(bound + 1)));
}

void sim_remote::arm(nanoseconds after) noexcept {
  if (!clock_.armed() && !rail_.crashed_) world().arm(clock_, world().now() + after);
}

void sim_remote::read(remote_read& r) noexcept {
  r.begun();
  if (posted_count_ < options().depth) {
    posted_.push_back(r);
    ++posted_count_;
  } else {
    queued_.push_back(r);
  }
  if (link_ != nullptr) arm(2 * rail_.network_.way(rail_.host_, link_->remote_host()).model.latency);
}

bool sim_remote::take_back(remote_read& r) noexcept {
  for (remote_read* each = queued_.first(); each != nullptr; each = queued_.next(*each)) {
    if (each != &r) continue;
    r.unlink();
    r.taken_back();
    return true;
  }
  return false;
}

void sim_remote::grant(read_grant& g, std::span<const registered_piece> pieces) noexcept {
  g.begun();
  grants_.push_back(g);
  told t{&g, {}, pieces.size()};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    t.extents[i] = {reinterpret_cast<std::uintptr_t>(pieces[i].bytes.data()), pieces[i].in->key(),
                    static_cast<std::uint32_t>(pieces[i].bytes.size())};
  }
  granted_.push_back(t);
  if (!telling_.scheduled()) rail_.home_.schedule(telling_);
}

void sim_remote::end(read_grant& g) noexcept {
  std::erase_if(granted_, [&](const told& t) { return t.grant == &g; });
  g.unlink();
  ended_.push_back(g);
  if (!telling_.scheduled()) rail_.home_.schedule(telling_);
}

void sim_remote::tell_grants() noexcept {
  if (link_ == nullptr && rail_.crashed_ && !flushed_) flush();
  if (flushed_ && link_ == nullptr) {
    delete this;
    return;
  }
  for (const told& t : std::exchange(granted_, {})) t.grant->tell_granted({t.extents.data(), t.count});
  while (!ended_.empty()) ended_.pop_front().tell_ended();
}

void sim_remote::cut_now() noexcept {
  cut();
  flush();
}

void sim_remote::cut() noexcept {
  if (link_ != nullptr && link_->connected()) link_->cut_remote();
}

void sim_remote::bury() noexcept {
  if (clock_.armed()) world().disarm(clock_);
  if (other_ != nullptr) std::exchange(other_, nullptr)->other_ = nullptr;
}

/// What was posted goes on until the flush.
void sim_remote::link_gone() noexcept {
  link_ = nullptr;
  if (clock_.armed()) world().disarm(clock_);
  if (flushed_ || rail_.crashed_) {  // a crashed life is driven to its end by its own executor
    if (!telling_.scheduled()) rail_.home_.schedule(telling_);
    return;
  }
  flush_at_ = world().now() + draw(options().flush_limit);
  world().arm(clock_, std::min(flush_at_, world().now() + draw(options().step_limit)));
}

void sim_remote::tick() noexcept {
  if (rail_.crashed_) {
    bury();
    if (link_ == nullptr && !telling_.scheduled()) rail_.home_.schedule(telling_);
    return;
  }
  const nanoseconds now = world().now();
  const bool over = link_ == nullptr && now >= flush_at_;
  const bool completes = landed_ && link_ != nullptr;
  if ((over || completes) && rail_.home_.available_at() > now)
    return world().arm(clock_, rail_.home_.available_at());
  if (over) return rail_.home_.enter([this]() noexcept { flush(); });
  if (completes) return complete_first();
  if (link_ != nullptr && !posted_.empty() && !link_->connected()) link_->unanswered();
  if (!posted_.empty() && !landed_ && (link_ == nullptr || link_->reachable())) move_bytes();
  if (link_ == nullptr) {
    world().arm(clock_, std::min(flush_at_, now + options().step_limit));
  } else if (!posted_.empty() && !clock_.armed()) {
    arm(link_->reachable() ? draw(options().step_limit) : held_up);
  }
}

void sim_remote::complete_first() noexcept {
  remote_read& r = posted_.pop_front();
  landed_ = false;
  moved_ = 0;
  --posted_count_;
  if (!queued_.empty()) {
    posted_.push_back(queued_.pop_front());
    ++posted_count_;
  }
  if (!posted_.empty()) arm(draw(options().step_limit));
  rail_.home_.enter([&r]() noexcept { r.complete({}); });
}

/// Moves the next bytes of the first READ. Nothing moves any more when the peer's end is fenced.
void sim_remote::move_bytes() noexcept {
  if (other_ == nullptr) return;
  remote_read& r = posted_.front();
  const auto source = other_->rail_.registrar_->find(r.from);
  if (source.empty() || source.size() != r.into.bytes.size()) {
    if (link_ == nullptr || !link_->connected()) return;
    ++rail_.network_.remote_violations_;
    return link_->cut_remote();
  }
  const std::size_t n = std::min(options().piece_bytes, source.size() - moved_);
  std::memcpy(r.into.bytes.data() + moved_, source.data() + moved_, n);
  moved_ += n;
  rail_.network_.bytes_read_ += n;
  landed_ = moved_ == source.size();
}

void sim_remote::flush() noexcept {
  if (other_ != nullptr) std::exchange(other_, nullptr)->other_ = nullptr;
  flushed_ = true;
  if (clock_.armed()) world().disarm(clock_);
  granted_.clear();
  ended_.splice(grants_);
  posted_.splice(queued_);
  while (!posted_.empty())
    posted_.pop_front().complete(error(errc::connection_lost, "the link broke under a READ"));
  while (!ended_.empty()) ended_.pop_front().tell_ended();
  if (link_ == nullptr && !telling_.scheduled()) rail_.home_.schedule(telling_);
}

}  // namespace scoll::testing
