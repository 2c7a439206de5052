#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "gossip/counters.hpp"
#include "gossip/event.hpp"
#include "gossip/liveness/cluster_clock.hpp"
#include "gossip/liveness/loss_estimate.hpp"
#include "gossip/member/agreement.hpp"
#include "gossip/member/incarnations.hpp"
#include "gossip/member/peer_choice.hpp"
#include "gossip/member/rail_choice.hpp"
#include "gossip/member/record.hpp"
#include "gossip/message.hpp"
#include "gossip/options.hpp"
#include "gossip/snapshot.hpp"
#include "gossip/verdict.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// The effects of a core on the world. They are called from within its inputs, and must not call back into
/// the core.
class core_output {
 public:
  /// Sends a message, which is complete and valid until this returns, from the own rail `via.own` to the
  /// other's address `via.other`. `nobody`: back to the source of the message that is being handled. False:
  /// it could not be sent.
  virtual bool send(participant_index to, way via, std::span<const std::byte> message) noexcept = 0;
  virtual void changed(const liveness_event& e) noexcept = 0;
  virtual void disagrees(const disagreement&) noexcept {}

 protected:
  ~core_output() = default;
};

/// The protocol without input and output: points in time and messages go in, messages and changes come out.
/// It reserves its memory when it is constructed.
///
/// ```text
///            held dead by others, or its time is over          stop()
///   stealth ──────────────────────────────────────────► active ─────────► stopped
///      └──────── disagrees, or is not its latest life ─────┴────────────────┘ failure() says why
/// ```
class core {
 public:
  /// `chosen` has been checked and has its seed. `most_bytes` is the largest message, at least `least_bytes`.
  core(configuration_ptr shared, participant_index self, const options& chosen, std::size_t most_bytes,
       time_point now, core_output& out);
  core(const core&) = delete;
  core& operator=(const core&) = delete;

  static std::size_t least_bytes(const message_seal* seal) noexcept;

  /// The next point in time at which `on_timer` must be called. A later call is allowed, and is noticed.
  time_point next_timer() const noexcept { return next_tick_ < next_ping_ ? next_tick_ : next_ping_; }
  void on_timer(time_point now) noexcept;
  /// Takes a message that came by `via` from an address of participant `from`.
  void on_message(participant_index from, std::span<const std::byte> bytes, time_point now,
                  way via = {}) noexcept;
  /// Takes a message from an address that no participant has. A participant of another list is told so. True
  /// if the message should be reported now, which is never twice within ten seconds.
  bool on_stranger(std::span<const std::byte> bytes, time_point now, way via) noexcept;
  /// Reports the source of such a message.
  void report_stranger(std::string_view address) noexcept;
  /// Takes in that a participant was heard in an incarnation, but not by a message of the gossip.
  void on_heard(participant_index who, std::uint64_t incarnation) noexcept;
  void stop() noexcept { stage_ = participation::stopped; }

  participation stage() const noexcept { return stage_; }
  /// Why the core has stopped by itself.
  const error& failure() const noexcept { return failure_; }
  std::uint64_t epoch() const noexcept { return epoch_; }
  std::uint64_t clock() const noexcept { return clock_.now(); }
  std::uint32_t threshold() const noexcept { return threshold_; }
  withheld reason() const noexcept;
  liveness state(participant_index who) const noexcept { return records_[who].state; }
  std::uint64_t incarnation(participant_index who) const noexcept { return lives_.of(who); }
  reachability reach(participant_index who) const noexcept;
  /// The own rail with which cycles begin: the one that answered last.
  rail_index rail() const noexcept { return rails_.preferred(); }
  std::span<const std::uint8_t> ages() const noexcept { return ages_; }
  verdict explain(participant_index who) const noexcept;
  const counters& counts() const noexcept { return counts_; }
  snapshot take_snapshot() const;

 private:
  // core.cpp: cycles and verdicts
  void tick(time_point now) noexcept;
  void notice_gap(time_point now) noexcept;
  void conclude_cycle() noexcept;
  void go_on_in_stealth() noexcept;
  void begin() noexcept;
  void move_ages(std::uint64_t before) noexcept;
  void adapt_threshold() noexcept;
  std::uint32_t computed_threshold(double loss) const noexcept;
  std::uint32_t obsolete_after() const noexcept;
  void judge() noexcept;
  void look_at(participant_index who, withheld why) noexcept;
  void judge(participant_index who, withheld why) noexcept;
  void become(participant_index who, liveness state) noexcept;
  void announce(participant_index who, event_kind kind) noexcept;
  void fail(const error& why) noexcept;
  std::uint32_t others_alive() const noexcept { return counts_by_state_[1]; }
  bool relative() const noexcept { return options_.ages == age_rule::relative_ages; }

  // core_exchange.cpp: messages
  void ping() noexcept;
  void ping(participant_index to, rail_index rail) noexcept;
  way way_to(participant_index to, rail_index rail) const noexcept;
  message_head head_for(message_kind kind, participant_id receiver) noexcept;
  std::span<std::byte> room() noexcept;
  std::uint32_t entries_per_message() const noexcept;
  void write_rest(message_writer& w, const message_view* asked) noexcept;
  bool finish_and_send(participant_index to, way via, std::uint64_t life, const message_head& h,
                       std::size_t size) noexcept;
  std::span<const std::byte> opened(const message_head& h, std::span<const std::byte> bytes) noexcept;
  std::size_t least_sealed() const noexcept;
  bool is_of(const message_head& h, participant_index from) const noexcept;
  bool admit(participant_index from, const message_head& h, heard_life& heard) noexcept;
  void take(participant_index from, const message_view& m, time_point now) noexcept;
  void learn_lives(const message_view& m) noexcept;
  void learn(participant_index who, std::uint64_t incarnation, bool from_table) noexcept;
  int merge(const message_view& m) noexcept;
  void answered(participant_index from, const message_head& h) noexcept;
  void reply(participant_index to, const message_view& m, int shift) noexcept;
  void reply_without_entries(participant_index to, const message_head& ping, bool objects) noexcept;
  void confirm_lives(const message_view& m) noexcept;
  void confirm(participant_index who, std::uint64_t incarnation) noexcept;
  void look_for_oneself(const message_view& m) noexcept;

  // core_disagreement.cpp: messages of other configurations and versions
  void disagree(participant_index from, const message_head& h, std::span<const std::byte> body,
                time_point now) noexcept;
  parameter difference_to(const message_head& h, std::span<const std::byte> body) const noexcept;
  void report(participant_index from, const message_head& h, parameter differs, time_point now) noexcept;

  template <class... Args>
  void log(log_level level, std::uint64_t remote, const char* format, const Args&... args) const noexcept;

  configuration_ptr shared_;
  participant_index self_;
  options options_;
  std::size_t most_bytes_;
  core_output& out_;
  random_generator random_;

  participation stage_ = participation::stealth;
  error failure_;
  short_digest digest_;
  claim claim_;
  cluster_clock clock_;
  loss_estimate loss_;
  agreement agreement_;
  incarnations lives_;
  peer_choice peers_;
  rail_choice rails_;
  way via_;  // of the message that is being handled
  std::vector<std::uint8_t> ages_;
  std::vector<std::uint8_t> heard_;  // the ages in one message
  std::vector<record> records_;
  std::vector<std::uint8_t> restless_;  // 0: held alive in the known life, and not silent
  std::vector<std::byte> outgoing_;
  std::vector<std::byte> incoming_;  // sealed messages are opened here
  std::array<std::uint32_t, 3> counts_by_state_{};

  time_point next_stranger_{};  // none is reported before

  time_point last_tick_;
  time_point next_tick_;
  time_point next_ping_ = never;
  bool ticked_ = false;
  std::uint64_t sequence_ = 0;
  std::uint64_t epoch_ = 0;
  std::uint32_t threshold_ = 0;
  std::uint32_t calm_cycles_ = 0;  // since the threshold could have been lower
  std::uint32_t stealth_left_ = 0;
  std::uint32_t full_left_ = 0;  // cycles left in which pings carry the full configuration
  std::uint64_t begun_ = 0;      // the participant's own cycle in which it became active
  std::uint32_t answers_needed_ = 2;
  std::uint32_t attempts_ = 0;
  // the first participant that is heard of, and whose life is not known for sure
  participant_index unconfirmed_ = nobody;
  std::array<participant_index, 9> tried_{};
  bool replied_ = false;
  std::uint8_t silent_cycles_ = 0;  // a bit for each of the latest cycles
  counters counts_;
};

}  // namespace scoll::gossip
