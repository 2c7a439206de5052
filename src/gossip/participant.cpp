#include "gossip/participant.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "gossip/address_table.hpp"
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

/// Connects a core with its ports and a timer.
class participant::loop final : public core_output, private timer_node {
 public:
  loop(participant& owner, const options& chosen, std::size_t most_bytes)
      : timer_node([](timer_node& self) noexcept { static_cast<loop&>(self).on_timer(); }),
        owner_(owner),
        core_(owner.shared_, owner.self_, chosen, most_bytes, owner.home_.now(), *this) {
    const auto rails = static_cast<rail_index>(owner.ports_.size());
    for (rail_index i = 0; i < rails; ++i) receivers_[i].emplace(*this, i);
  }
  ~loop() { stop(); }

  status find_addresses() { return addresses_.find(*owner_.shared_, owner_.self_, owner_.ports_); }
  status bind(rail_index rail) {
    return owner_.ports_[rail]->bind(owner_.shared_->addresses(owner_.self_)[rail], *receivers_[rail]);
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
  void on_heard(participant_index who, std::uint64_t incarnation) noexcept {
    core_.on_heard(who, incarnation);
    look_for_end();
  }

  gossip::core& protocol() noexcept { return core_; }
  scoll::event& ended() noexcept { return ended_; }

 private:
  /// The receiver of one port.
  class receiver final : public transport::datagram_events {
   public:
    receiver(loop& owner, rail_index own) noexcept : owner_(owner), own_(own) {}
    void on_datagram(const transport::datagram_address& source,
                     const transport::buffer_view& bytes) noexcept override {
      owner_.on_datagram(own_, source, bytes.bytes);
    }

   private:
    loop& owner_;
    rail_index own_;
  };

  void on_datagram(rail_index own, const transport::datagram_address& source,
                   std::span<const std::byte> bytes) noexcept {
    source_ = source;
    const address_table::place from = addresses_.find(source, claimed_sender(bytes), own);
    if (from.who != nobody) {
      core_.on_message(from.who, bytes, owner_.home_.now(), {own, from.rail});
      look_for_end();
    } else if (core_.on_stranger(bytes, owner_.home_.now(), {own, 0})) {
      core_.report_stranger(owner_.ports_[own]->print(source));
    }
  }

  void on_timer() noexcept {
    core_.on_timer(owner_.home_.now());
    tell_stage();
    if (core_.stage() == participation::stopped) return;
    owner_.home_.arm(*this, core_.next_timer());
  }

  void look_for_end() noexcept {
    tell_stage();
    if (core_.stage() == participation::stopped) ended_.set();
  }
  void tell_stage() noexcept { owner_.tell_stage(core_.stage()); }

  bool send(participant_index to, way via, std::span<const std::byte> message) noexcept override {
    const auto& target = to == nobody ? source_ : addresses_.of(to, via.other);
    return owner_.ports_[via.own]->send(target, message).has_value();
  }

  void changed(const liveness_event& e) noexcept override {
    owner_.tell([&e](event_listener& l) { l.on_liveness(e); });
  }
  void disagrees(const disagreement& d) noexcept override {
    owner_.tell([&d](event_listener& l) { l.on_disagreement(d); });
  }

  participant& owner_;
  gossip::core core_;
  address_table addresses_;
  std::array<std::optional<receiver>, most_addresses> receivers_;
  transport::datagram_address source_;  // of the message that is being handled
  scoll::event ended_;
};

participant::participant(executor& home, transport::datagram_port& port, configuration_ptr shared,
                         std::string self, options chosen)
    : home_(home), ports_{&port}, shared_(std::move(shared)), given_self_(std::move(self)), options_(chosen) {
  if (const auto index = shared_->index_of(given_self_)) self_ = *index;
}

participant::participant(executor& home, std::vector<transport::datagram_port*> ports,
                         configuration_ptr shared, participant_id self, options chosen)
    : home_(home),
      ports_(std::move(ports)),
      shared_(std::move(shared)),
      given_self_(fmt::format("participant {}", self)),
      options_(chosen) {
  if (const auto index = shared_->index_of_id(self)) self_ = *index;
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

status participant::check_self() const {
  if (self_ == nobody)
    return make_error(errc::invalid_argument, "gossip: {} is not in the list of participants", given_self_);
  const std::size_t addresses = shared_->addresses(self_).size();
  if (ports_.size() == addresses) return {};
  return make_error(errc::invalid_argument,
                    "gossip: {} has {} addresses and {} ports: it needs one port for each address",
                    given_self_, addresses, ports_.size());
}

status participant::prepare() {
  if (loop_ != nullptr) return error(errc::already_exists, "gossip: a participant can run only once");
  if (status s = check_self(); !s) return s;
  if (status s = check(options_, *shared_); !s) return s;
  options chosen = options_;
  if (chosen.seed == 0) chosen.seed = entropy();
  std::size_t carried = SIZE_MAX;
  for (const transport::datagram_port* port : ports_) carried = std::min(carried, port->max_datagram_bytes());
  const std::size_t most = chosen.most_message_bytes == 0 ? carried : chosen.most_message_bytes;
  const std::size_t least = gossip::core::least_bytes(chosen.seal);
  if (most > carried || most < least)
    return make_error(errc::invalid_argument, "gossip: messages of {} bytes; {} to {} are possible", most,
                      least, carried);
  auto made = std::make_unique<loop>(*this, chosen, most);
  if (status s = made->find_addresses(); !s) return s;
  loop_ = std::move(made);
  const auto rails = static_cast<rail_index>(ports_.size());
  for (rail_index i = 0; i < rails; ++i) {
    if (status s = loop_->bind(i); !s) return s;
    ++bound_;
  }
  loop_->start();
  return {};
}

void participant::close_ports() noexcept {
  for (std::size_t i = 0; i < bound_; ++i) ports_[i]->close();
}

bool participant::ports_open() const noexcept {
  const std::span own(ports_.data(), bound_);
  return std::any_of(own.begin(), own.end(), [](const auto* port) { return port->open(); });
}

void participant::heard(participant_id who, std::uint64_t incarnation) noexcept {
  const auto index = shared_->index_of_id(who);
  if (loop_ != nullptr && index) loop_->on_heard(*index, incarnation);
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
  const bool again = p.loop_ != nullptr;
  const status prepared = p.prepare();
  if (again) co_return prepared;
  status ended = prepared;
  if (prepared) {
    ended = co_await p.loop_->ended().wait(stop);
    ended = ended ? status(p.loop_->protocol().failure()) : status();
  }
  if (p.loop_ != nullptr) p.loop_->stop();
  p.tell_stage(participation::stopped);
  p.close_ports();
  while (p.ports_open()) {
    const auto soon = p.home_.now() + closing_poll;
    co_await sleep_until(soon);
  }
  co_return ended;
}

task<status> active(participant& p, stop_token stop) {
  const status left = co_await p.left_stealth_.wait(stop);
  if (!left) co_return left;
  if (p.stage() == participation::active) co_return status();
  co_return error(errc::closed, "gossip: the participant has ended");
}

}  // namespace scoll::gossip
