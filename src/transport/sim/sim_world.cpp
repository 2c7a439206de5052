#include "transport/sim/sim_world.hpp"

#include <algorithm>

namespace scoll::testing {
namespace {

constexpr std::int64_t million = 1'000'000;

/// The drift of `ns` at `ppm` parts per million, rounded towards minus infinity.
constexpr std::int64_t drifted(std::int64_t ns, std::int64_t ppm) noexcept {
  if (ppm == 0) return 0;
  const std::int64_t rest = ns % million * ppm;  // in two steps, so that no product is too large
  return ns / million * ppm + rest / million - (rest % million < 0 ? 1 : 0);
}

constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept {
  return (hash ^ value ^ (value >> 29)) * 0x100000001b3;
}

}  // namespace

/// The waiters of one host, behind one timer of the world.
struct sim_executor::gate final : timer_node {
  explicit gate(sim_executor& host) noexcept : timer_node(&fire), owner(host) {}
  ~gate() {
    if (armed()) owner.world_.disarm(*this);
  }

  static void fire(timer_node& node) noexcept {
    auto& self = static_cast<gate&>(node);
    const nanoseconds now = self.owner.world_.now();
    while (!self.waiting.empty()) {
      if (self.owner.available_at() > now) return self.owner.world_.arm(self, self.owner.available_at());
      sim_waiter& first = self.waiting.pop_front();
      first.run_(first);
    }
  }

  sim_executor& owner;
  intrusive_list<sim_waiter, sim_waiter> waiting;
};

std::size_t posted_list::run_all() noexcept {
  posted_node* node = std::exchange(first_, nullptr);
  last_ = nullptr;
  std::size_t ran = 0;
  for (; node != nullptr; ++ran) {
    posted_node& first = *node;
    node = first.next;
    first.run();
  }
  return ran;
}

sim_executor::sim_executor(sim_world& world, std::uint32_t host, sim_clock clock)
    : world_(world), host_(host), clock_(clock) {
  SCOLL_ASSERT(world_.hosts_[host] == nullptr, "a simulated host has two lives at once");
  world_.hosts_[host] = this;
}

sim_executor::~sim_executor() {
  if (attached_) detach();
}

time_point sim_executor::now() const noexcept {
  return attached_ ? local_time(world_.now_) : isolated_now_;
}

time_point sim_executor::local_time(nanoseconds global) const noexcept {
  return time_point(clock_.offset + global + nanoseconds(drifted(global.count(), clock_.drift_ppm)));
}

/// The earliest point of the world's time at which this host's clock shows `local`.
nanoseconds sim_executor::global_time(time_point local) const noexcept {
  if (local == never) return sim_world::no_time;
  const std::int64_t wanted = (local.time_since_epoch() - clock_.offset).count();
  if (clock_.drift_ppm == 0) return nanoseconds(wanted);
  __extension__ using wide = __int128;
  nanoseconds at(
      static_cast<std::int64_t>(static_cast<wide>(wanted) * million / (million + clock_.drift_ppm)));
  while (local_time(at) >= local) at -= nanoseconds(1);
  while (local_time(at) < local) at += nanoseconds(1);
  return at;
}

void sim_executor::post(posted_node& node) noexcept {
  posted_.push(node);
  touch();
}

void sim_executor::stall_until(nanoseconds at) noexcept {
  stalled_ = std::max(stalled_, at);
  touch();
}

void sim_executor::occupy(nanoseconds d) noexcept {
  busy_ = std::max(busy_, world_.now_) + d;
  worked_ += d;
}

void sim_executor::when_available(sim_waiter& waiter) noexcept {
  if (gate_ == nullptr) gate_ = std::make_unique<gate>(*this);
  gate_->waiting.push_back(waiter);
  if (!gate_->armed()) world_.arm(*gate_, available_at());
}

nanoseconds sim_executor::wake_at() const noexcept {
  const bool ready = has_ready() || !posted_.empty();
  const nanoseconds wanted = ready ? world_.now_ : global_time(next_timer());
  if (wanted == sim_world::no_time) return wanted;
  return std::max({wanted, available_at(), world_.now_});
}

void sim_executor::touch() noexcept {
  if (attached_) world_.wakes_.set(host_, wake_at());
}

void sim_executor::detach() noexcept {
  isolated_now_ = now();
  attached_ = false;
  gate_.reset();
  world_.hosts_[host_] = nullptr;
  world_.wakes_.set(host_, sim_world::no_time);
}

std::size_t sim_executor::run_turn(std::size_t limit) noexcept {
  std::size_t ran = 0;
  if (!posted_.empty()) {
    const turn as_current(*this);
    ran = posted_.run_all();
  }
  return ran + run_ready(limit > ran ? limit - ran : 0);
}

bool sim_executor::advance_isolated() noexcept {
  if (next_timer() == never) return false;
  isolated_now_ = std::max(isolated_now_, next_timer());
  return true;
}

sim_world::sim_world(std::uint64_t seed, std::uint32_t hosts, bool remember)
    : random_(seed), hosts_(hosts), wakes_(hosts), histories_(remember ? hosts : 0), livelocked_(hosts) {}

void sim_world::arm(timer_node& node, nanoseconds at) noexcept {
  timers_.insert(node, time_point(std::max(at, now_)));
}

bool sim_world::step(nanoseconds until) noexcept {
  const nanoseconds host_at = wakes_.earliest();
  const nanoseconds network_at = timers_.earliest().time_since_epoch();
  const nanoseconds at = std::min(host_at, network_at);
  if (at > until || at == no_time || livelocked_ != hosts()) return false;
  now_ = std::max(now_, at);
  if (network_at <= host_at) {
    ++events_;
    timers_.fire_one(time_point(now_));
    return true;
  }
  const std::uint32_t index = wakes_.first();
  sim_executor& runs = *hosts_[index];
  const std::size_t ran = runs.run_turn(sim_executor::turn_limit);
  if (ran >= sim_executor::turn_limit) livelocked_ = index;
  events_ += ran;
  record(sim_trace::turn, index, ran, 0);
  runs.touch();
  return true;
}

void sim_world::run_until(nanoseconds until) noexcept {
  while (step(until)) {
  }
  now_ = std::max(now_, until);
}

void sim_world::record(sim_trace kind, std::uint32_t host, std::uint64_t first,
                       std::uint64_t second) noexcept {
  hash_ = mix(hash_, static_cast<std::uint64_t>(now_.count()));
  hash_ = mix(hash_, (std::uint64_t{host} << 8) | static_cast<std::uint64_t>(kind));
  hash_ = mix(mix(hash_, first), second);
  const sim_record r{now_, kind, host, first, second};
  if (kind != sim_trace::turn && !histories_.empty()) {
    history& h = histories_[host % histories_.size()];  // a host may have several addresses
    h.records[h.next++ % remembered] = r;
  }
  if (observer_ != nullptr) observer_(r);
}

std::vector<sim_record> sim_world::latest(std::uint32_t host) const {
  std::vector<sim_record> found;
  if (histories_.empty()) return found;
  const history& h = histories_[host];
  for (std::size_t i = h.next > remembered ? h.next - remembered : 0; i < h.next; ++i)
    found.push_back(h.records[i % remembered]);
  return found;
}

}  // namespace scoll::testing
