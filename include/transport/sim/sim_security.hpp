#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/random.hpp"
#include "transport/session/link_guard.hpp"

namespace scoll::testing {

/// A key of a simulated cluster. Whoever has the secret is believed.
struct sim_key {
  std::uint32_t id = 0;
  std::uint64_t secret = 0;
};
/// The keys of a node: the first one is offered by the side that connects, and each is accepted.
using sim_ring = std::vector<sim_key>;

/// An authority's statement that a key belongs to a node. The node signs with the key what the two sides
/// agree on, so a peer that trusts the authority knows whom it talks to.
struct sim_certificate {
  std::uint64_t authority = 0;
  transport::node_id node = 0;
  std::uint64_t key = 0;

  /// The certificate of a node; `authority` is the secret of the authority.
  static sim_certificate issued(std::uint64_t authority, transport::node_id node) noexcept;
};

/// The form of simulated handshakes.
struct sim_handshake {
  static constexpr std::uint32_t most_rounds = 4;

  /// How often the side that connects speaks and is answered before it gives its last proof: 1 to
  /// `most_rounds`. TLS has one round.
  std::uint32_t rounds = 1;
  /// What a side says at a time has at least so many bytes. If they are more than one step may have, they
  /// travel in several. `fits` says what a peer takes.
  std::uint32_t flight_bytes = 0;

  constexpr bool fits() const noexcept {
    const std::size_t steps_of_flight = flight_bytes / transport::link_guard::most_step_bytes + 1;
    return rounds >= 1 && rounds <= most_rounds &&
           steps_of_flight * (rounds + 1) <= transport::link_guard::most_steps;
  }
  /// This form if it fits, or else one of as many rounds whose flights take a step each.
  constexpr sim_handshake fitted() const noexcept {
    return fits() ? *this
                  : sim_handshake{rounds, static_cast<std::uint32_t>(flight_bytes %
                                                                     transport::link_guard::most_step_bytes)};
  }
};

/// What the guards of a run have seen, for its properties. Several `sim_security` share one.
struct sim_guard_counts {
  std::uint64_t proven = 0;            ///< guards that came to their end
  std::uint64_t proven_accepting = 0;  ///< those of them whose side had accepted the connection
  std::uint64_t proofs_refused = 0;    ///< proofs that were wrong: another secret, or altered bytes
  std::uint64_t flights_refused = 0;   ///< what was no part of a handshake, or not the next one
  std::uint64_t records_refused = 0;   ///< records that were altered, or are not of their connection
  std::uint64_t keys_unknown = 0;      ///< connections with a key that is not in the ring
  std::uint64_t keys_not_first = 0;    ///< connections with another key than the first one of the ring
  std::uint64_t most_steps = 0;        ///< the most steps that one guard was given
  std::uint64_t most_step_bytes = 0;   ///< the longest step
  std::uint64_t parted_flights = 0;    ///< what one side said at a time came in several steps
  std::uint64_t misnamed = 0;          ///< other sides whose certificate named another node
};

/// The security mode of a simulated node. All is as in mode `psk`, or as in mode `tls` once the node has a
/// certificate, except for the cryptography: a keyed checksum stands for it, over the handshake and over each
/// record. As with TLS, no proof covers the hello or the filling of a handshake; only `link_guard::channel`
/// does. It says nothing about real attackers. Nonces are drawn from a generator of its own. Thread: its
/// node's.
class sim_security final : public transport::link_security {
 public:
  /// `form` must fit, and `ring` must not be empty.
  sim_security(const sim_handshake& form, sim_ring ring, std::uint64_t seed,
               std::shared_ptr<sim_guard_counts> counts);
  ~sim_security() override = default;

  /// The keys for connections that begin from now on. Those that stand are not touched.
  void use(sim_ring ring) noexcept;
  /// From now on the node shows a certificate, and believes other sides by one of the same authority alone,
  /// as the node that it names. They still need a key of the ring, which stands for the cryptography.
  void certify(const sim_certificate& own) noexcept { own_ = own; }

  std::uint8_t mode() const noexcept override;
  std::string_view name() const noexcept override;
  result<std::unique_ptr<transport::link_guard>> connect(transport::hello& said) noexcept override;
  result<std::unique_ptr<transport::link_guard>> accept(const transport::hello& said) noexcept override;

 private:
  const sim_key* find(std::uint32_t id) const noexcept;
  std::uint64_t seed_of_accepted() noexcept;

  sim_handshake form_;
  sim_ring ring_;
  sim_ring earlier_;                // for nothing but a deliberate bug
  std::uint64_t earlier_seed_ = 0;  // the same
  std::optional<sim_certificate> own_;
  random_generator random_;
  std::shared_ptr<sim_guard_counts> counts_;
};

}  // namespace scoll::testing
