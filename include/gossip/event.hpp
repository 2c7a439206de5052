#pragma once

#include <cstdint>
#include <string_view>

#include "gossip/configuration.hpp"
#include "scoll/coro/intrusive_list.hpp"

namespace scoll::gossip {

enum class event_kind : std::uint8_t {
  alive,     ///< for the first time, or again in the same life
  dead,      ///< not heard of for longer than the threshold
  rebooted,  ///< alive in a later life than the one last announced, whether that was held dead or not
};

std::string_view to_string(event_kind kind) noexcept;

/// A change of what is held of another participant.
struct liveness_event {
  event_kind kind = event_kind::alive;
  participant_index who = nobody;
  std::uint64_t incarnation = 0;  ///< the life it speaks of; never 0, and never smaller than before
  std::uint32_t aliveness = 0;    ///< how often it has come back; its first start does not count
  std::uint64_t epoch = 0;        ///< 1 for the first event of this participant, and so on without gaps
  std::uint64_t cycle = 0;        ///< the cluster clock here
};

enum class participation : std::uint8_t;

/// Who is told of changes, in order. It leaves when it dies; while it is told it may leave and others
/// may join, and nobody may destroy the participant.
class event_listener : public list_hook<event_listener> {
 public:
  virtual void on_liveness(const liveness_event& e) noexcept = 0;
  /// The participant listens (`stealth`), takes part (`active`) or has ended (`stopped`).
  virtual void on_stage(participation) noexcept {}

 protected:
  ~event_listener() = default;
};

}  // namespace scoll::gossip
