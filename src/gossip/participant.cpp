#include "gossip/participant.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "gossip/core.hpp"
#include "gossip/message.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/sleep.hpp"

namespace scoll::gossip {
namespace {

constexpr nanoseconds closing_poll = std::chrono::milliseconds(1);

std::uint64_t entropy() {
  std::random_device device;
  const std::uint64_t high = device();
  return (high << 32) | device();
}

}  // namespace

/// Connects a core with a port and a timer.
class participant::loop final : public core_output, public transport::datagram_events, private timer_node {
 public:
  loop(participant& owner, const options& chosen, std::size_t most_bytes)
      : timer_node([](timer_node& self) noexcept { static_cast<loop&>(self).on_timer(); }),
        owner_(owner),
        core_(owner.shared_, owner.self_, chosen, most_bytes, owner.home_.now(), *this) {}
  ~loop() { stop(); }

  /// Errors: an address that the port does not understand, or of another kind than the participant's own.
  status find_addresses() {
    const std::uint32_t count = owner_.shared_->size();
    for (participant_index i = 0; i < count; ++i) {
      const auto parsed = owner_.port_.parse(owner_.shared_->address(i));
      if (!parsed) return parsed.error();
      addresses_.push_back(*parsed);
      by_address_.push_back({*parsed, i});
    }
    for (participant_index i = 0; i < count; ++i) {
      if (addresses_[i].bytes().size() != addresses_[owner_.self_].bytes().size())
        return make_error(errc::invalid_argument, "gossip: {} is not in the network of {}",
                          owner_.shared_->address(i), owner_.own_address_);
    }
    std::sort(by_address_.begin(), by_address_.end());
    const auto twice = std::adjacent_find(by_address_.begin(), by_address_.end(),
                                          [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == by_address_.end()) return {};
    return make_error(errc::duplicate_target, "gossip: {} and {} are the same address",
                      owner_.shared_->address(twice->second),
                      owner_.shared_->address(std::next(twice)->second));
  }

  void start() noexcept {
    owner_.home_.arm(*this, core_.next_timer());
    tell_stage();
  }
  void stop() noexcept {
    if (armed()) owner_.home_.disarm(*this);
    core_.stop();
    tell_stage();
  }

  gossip::core& protocol() noexcept { return core_; }
  scoll::event& ended() noexcept { return ended_; }

  void on_datagram(const transport::datagram_address& source,
                   const transport::buffer_view& bytes) noexcept override {
    const participant_index from = find(source, claimed_sender(bytes.bytes));
    if (from == nobody) return core_.on_stranger(bytes.bytes.size());
    core_.on_message(from, bytes.bytes, owner_.home_.now());
    tell_stage();
    if (core_.stage() == participation::stopped) ended_.set();
  }

 private:
  /// The participant with an address, which most often is `likely`, the one that the message claims.
  participant_index find(const transport::datagram_address& source, participant_index likely) const noexcept {
    if (likely < addresses_.size() && addresses_[likely] == source) return likely;
    const auto at = std::lower_bound(by_address_.begin(), by_address_.end(), source,
                                     [](const auto& a, const auto& b) { return a.first < b; });
    return at == by_address_.end() || at->first != source ? nobody : at->second;
  }

  void on_timer() noexcept {
    core_.on_timer(owner_.home_.now());
    tell_stage();
    if (core_.stage() == participation::stopped) return;
    owner_.home_.arm(*this, core_.next_timer());
  }

  void tell_stage() noexcept { owner_.tell_stage(core_.stage()); }

  bool send(participant_index to, std::span<const std::byte> message) noexcept override {
    return owner_.port_.send(addresses_[to], message).has_value();
  }

  void changed(const liveness_event& e) noexcept override {
    owner_.tell([&e](event_listener& l) { l.on_liveness(e); });
  }

  participant& owner_;
  gossip::core core_;
  std::vector<transport::datagram_address> addresses_;
  std::vector<std::pair<transport::datagram_address, participant_index>> by_address_;
  scoll::event ended_;
};

participant::participant(executor& home, transport::datagram_port& port, configuration_ptr shared,
                         std::string self, options chosen)
    : home_(home), port_(port), shared_(std::move(shared)), own_address_(std::move(self)), options_(chosen) {
  if (const auto index = shared_->index_of(own_address_)) self_ = *index;
}

participant::~participant() = default;

template <class Tell>
void participant::tell(const Tell& tell) noexcept {
  for (event_listener* l = listeners_.first(); l != nullptr;) {
    // The listener that is being told may leave, but no other one.
    event_listener* const following = listeners_.next(*l);
    tell(*l);
    l = following;
  }
}

void participant::tell_stage(participation now) noexcept {
  if (std::exchange(told_, now) == now) return;
  if (now != participation::stealth) left_stealth_.set();
  tell([now](event_listener& l) { l.on_stage(now); });
}

status participant::prepare() {
  if (loop_ != nullptr) return error(errc::already_exists, "gossip: a participant can run only once");
  if (self_ == nobody)
    return make_error(errc::invalid_argument, "gossip: {} is no participant", own_address_);
  if (status s = check(options_, *shared_); !s) return s;
  options chosen = options_;
  if (chosen.seed == 0) chosen.seed = entropy();
  const std::size_t carried = port_.max_datagram_bytes();
  const std::size_t most = chosen.most_message_bytes == 0 ? carried : chosen.most_message_bytes;
  const std::size_t least = gossip::core::least_bytes(chosen.seal);
  if (most > carried || most < least)
    return make_error(errc::invalid_argument, "gossip: messages of {} bytes; {} to {} are possible", most,
                      least, carried);
  auto made = std::make_unique<loop>(*this, chosen, most);
  if (status s = made->find_addresses(); !s) return s;
  if (status s = port_.bind(own_address_, *made); !s) return s;
  loop_ = std::move(made);
  loop_->start();
  return {};
}

participation participant::stage() const noexcept {
  return loop_ == nullptr ? participation::idle : loop_->protocol().stage();
}
std::uint64_t participant::epoch() const noexcept {
  return loop_ == nullptr ? 0 : loop_->protocol().epoch();
}
liveness participant::state(participant_index who) const noexcept {
  return loop_ == nullptr ? liveness::unknown : loop_->protocol().state(who);
}
std::uint64_t participant::incarnation(participant_index who) const noexcept {
  return loop_ == nullptr ? 0 : loop_->protocol().incarnation(who);
}
reachability participant::reach(participant_index who) const noexcept {
  return loop_ == nullptr ? reachability::untried : loop_->protocol().reach(who);
}
std::uint64_t participant::clock() const noexcept {
  return loop_ == nullptr ? 0 : loop_->protocol().clock();
}
std::uint32_t participant::threshold() const noexcept {
  return loop_ == nullptr ? 0 : loop_->protocol().threshold();
}
verdict participant::explain(participant_index who) const noexcept {
  return loop_ == nullptr ? verdict{} : loop_->protocol().explain(who);
}
const counters& participant::counts() const noexcept {
  static constexpr counters none{};
  return loop_ == nullptr ? none : loop_->protocol().counts();
}
snapshot participant::take_snapshot() const {
  return loop_ == nullptr ? snapshot{} : loop_->protocol().take_snapshot();
}

task<status> run(participant& p, stop_token stop) {
  if (status s = p.prepare(); !s) {
    if (p.loop_ == nullptr) p.tell_stage(participation::stopped);
    co_return s;
  }
  auto& loop = *p.loop_;
  const status ended = co_await loop.ended().wait(stop);
  loop.stop();
  p.port_.close();
  while (p.port_.open()) {
    const auto soon = p.home_.now() + closing_poll;
    co_await sleep_until(soon);
  }
  if (!ended) co_return status();
  co_return loop.protocol().failure();
}

task<status> active(participant& p, stop_token stop) {
  const status left = co_await p.left_stealth_.wait(stop);
  if (!left) co_return left;
  if (p.stage() == participation::active) co_return status();
  co_return error(errc::closed, "gossip: the participant has ended");
}

}  // namespace scoll::gossip
