#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/collective/agreement/acceptor.hpp"
#include "scoll/collective/agreement/answers.hpp"
#include "scoll/collective/agreement/proposer.hpp"

namespace scoll::sim {

/// The size of the model of the agreement, and what may go wrong in it.
struct agree_bounds {
  std::uint32_t proposers = 2;  ///< the members with the lowest ranks
  std::uint32_t ballots = 3;    ///< of all proposers together
  detail::quorum_rule rule = detail::quorum_rule::majority;
  bool wrong_verdicts = true;  ///< a proposer may hold anybody dead; else only members that have crashed
  /// Members of whom nothing was heard are asked a second time under the same ballot, and then given up. If
  /// not, the proposer begins anew.
  bool second_asks = true;
};

/// One instance among three members, as its acceptors and proposers see it. Every request and every answer
/// may be late, even when it is not awaited any more, or never arrive. The decision of a dead member counts
/// as much as what a living one has.
class agree_model {
 public:
  static constexpr std::uint32_t members = 3;

  explicit agree_model(const agree_bounds& bounds);

  enum class action : std::uint8_t {
    begin,        ///< a proposer, which has called, begins a collect
    arrive,       ///< its request arrives at a member, which answers, or promises and waits for its own call
    arrive_late,  ///< a request for whose answer the proposer does not wait any more arrives
    call,         ///< a member that waits calls, and answers
    conclude,     ///< the proposer waits no longer; some answers have reached it
    hear,         ///< a member that never proposes hears the outcome
    crash,        ///< a member dies
  };
  struct step {
    action what;
    std::uint8_t proposer = 0;
    std::uint8_t member = 0;
    std::uint8_t late = 0;   ///< the index of the late request
    std::uint8_t heard = 0;  ///< the members whose answers have reached the proposer, as bits
    std::uint8_t dead = 0;   ///< the members that it holds dead, as bits
  };

  std::vector<step> steps() const;
  void take(const step& s);
  static std::string text_of(const step& s);
  std::string violation() const;
  bool reached() const;
  void describe_to(std::vector<std::uint64_t>& out) const;

 private:
  enum class stage : std::uint8_t { idle, collecting, accepting, decided };
  using bits = std::uint8_t;  // members
  struct proposing {
    detail::agreement_proposer core;
    stage now = stage::idle;
    bits asked = 0;
    bits arrived = 0;  // of those asked
    bits waiting = 0;  // of those arrived: the answer waits for the member's call
    std::array<detail::agreement_answers, members> answers{};
  };
  /// A collect, or an accept, for whose answer nobody waits.
  struct late_request {
    detail::ballot at;
    bool votes = false;
    detail::proposal what;  // if it asks for votes
    bits missing = 0;       // the members at which it has not arrived
  };

  void add_steps_of(std::vector<step>& into, std::uint8_t p) const;
  void begin(std::uint8_t p);
  void ask(std::uint8_t p, stage what, bits asked);
  void arrive(std::uint8_t p, std::uint8_t member);
  void arrive_late(const step& s);
  void call(std::uint8_t p, std::uint8_t member);
  bool lives(std::uint8_t member) const;
  detail::agreement_answers answer_now(const proposing& to, std::uint8_t member) const;
  void conclude(const step& s);
  void keep_late(const proposing& by);
  bool matters(const late_request& r, std::uint8_t member) const;
  const detail::proposal* decision_of(std::size_t i) const;

  agree_bounds bounds_;
  std::uint32_t ballots_ = 0;
  bits crashed_ = 0;
  std::array<detail::agreement_acceptor, members> acceptors_;
  std::vector<proposing> proposers_;
  std::vector<late_request> late_;
};

}  // namespace scoll::sim
