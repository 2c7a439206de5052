#pragma once

#include <cstdint>
#include <string_view>

#include "gossip/configuration.hpp"
#include "scoll/coro/intrusive_list.hpp"

namespace scoll::gossip {

enum class event_kind : std::uint8_t {
  alive,     ///< heard for the first time, or again in the same life
  dead,      ///< not heard of for longer than the threshold
  rebooted,  ///< alive in a later life than the one last announced, dead or not
};

std::string_view to_string(event_kind kind) noexcept;

/// A change of the state of another participant.
struct liveness_event {
  event_kind kind = event_kind::alive;
  participant_index who = nobody;
  /// The life that the event is about; never 0, and never smaller than before.
  std::uint64_t incarnation = 0;
  /// How often the participant has come back; its first start does not count.
  std::uint32_t aliveness = 0;
  /// The number of the event at this participant: 1 for the first, and so on without gaps.
  std::uint64_t epoch = 0;
  /// The cluster clock of this participant.
  std::uint64_t cycle = 0;
};

/// A part of the configuration in which two participants can differ.
enum class parameter : std::uint8_t { none, version, interval, participants };
std::string_view to_string(parameter p) noexcept;

/// Another participant has another configuration, so neither believes the other. Both are told, about a pair
/// at most once in ten seconds.
struct disagreement {
  participant_index who = nobody;
  /// The first parameter that differs; `none`: the other has not said which.
  parameter what = parameter::none;
};

enum class participation : std::uint8_t;

/// A receiver of changes, which come in order. Its destructor unsubscribes it. While a listener is being
/// told, it may leave and others may join, but no other one may leave, and the participant must not be
/// destroyed.
class event_listener : public list_hook<event_listener> {
 public:
  virtual void on_liveness(const liveness_event& e) noexcept = 0;
  /// The participant's stage has changed: it listens (`stealth`), takes part (`active`) or has ended
  /// (`stopped`).
  virtual void on_stage(participation) noexcept {}
  virtual void on_disagreement(const disagreement&) noexcept {}

 protected:
  ~event_listener() = default;
};

}  // namespace scoll::gossip
