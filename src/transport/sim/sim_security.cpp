#include "transport/sim/sim_security.hpp"

#include <algorithm>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/sim/sim_guard.hpp"

namespace scoll::testing {
namespace {

// The numbers of the modes whose place this one takes, and their names.
constexpr std::uint8_t psk_mode = 1;
constexpr std::uint8_t tls_mode = 2;
constexpr std::string_view psk_name = "psk";
constexpr std::string_view tls_name = "tls";

const sim_key* find_in(const sim_ring& ring, std::uint32_t id) noexcept {
  const auto found = std::ranges::find(ring, id, &sim_key::id);
  return found == ring.end() ? nullptr : &*found;
}

}  // namespace

sim_security::sim_security(const sim_handshake& form, sim_ring ring, std::uint64_t seed,
                           std::shared_ptr<sim_guard_counts> counts)
    : form_(form), ring_(std::move(ring)), random_(seed), counts_(std::move(counts)) {
  SCOLL_ASSERT(form.fits(), "a simulated handshake has more steps than a guard takes");
  SCOLL_ASSERT(!ring_.empty(), "a simulated security mode needs a key");
}

void sim_security::use(sim_ring ring) noexcept {
  earlier_ = std::exchange(ring_, std::move(ring));
}

const sim_key* sim_security::find(std::uint32_t id) const noexcept {
  const sim_key* const found = find_in(ring_, id);
  if (found == nullptr && SCOLL_MUTANT(removed_key_accepted, "a key that was removed is still accepted"))
    return find_in(earlier_, id);
  return found;
}

std::uint64_t sim_security::seed_of_accepted() noexcept {
  const bool again =
      earlier_seed_ != 0 &&
      SCOLL_MUTANT(guard_used_again, "the guard of an earlier connection is used again for the next one");
  if (!again) earlier_seed_ = random_.next();
  return earlier_seed_;
}

std::uint8_t sim_security::mode() const noexcept {
  return own_ ? tls_mode : psk_mode;
}

std::string_view sim_security::name() const noexcept {
  return own_ ? tls_name : psk_name;
}

result<std::unique_ptr<transport::link_guard>> sim_security::connect(transport::hello& said) noexcept {
  const sim_key& key = ring_.front();
  said.security = mode();
  said.key = key.id;
  auto made = std::make_unique<sim_guard>(sim_guard::side::connecting, key, random_.next(), own_, counts_);
  made->begin(said, form_);
  return std::unique_ptr<transport::link_guard>(std::move(made));
}

result<std::unique_ptr<transport::link_guard>> sim_security::accept(const transport::hello& said) noexcept {
  const sim_key* const key = find(said.key);
  if (key == nullptr) {
    ++counts_->keys_unknown;
    return make_error(errc::not_authentic, "the key {:08x} is not in the ring of security.keys", said.key);
  }
  counts_->keys_not_first += key->id != ring_.front().id;
  auto made =
      std::make_unique<sim_guard>(sim_guard::side::accepting, *key, seed_of_accepted(), own_, counts_);
  made->begin(said, form_);
  return std::unique_ptr<transport::link_guard>(std::move(made));
}

}  // namespace scoll::testing
