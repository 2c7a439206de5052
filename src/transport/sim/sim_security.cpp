#include "transport/sim/sim_security.hpp"

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/security/security_options.hpp"
#include "transport/sim/sim_guard.hpp"

namespace scoll::testing {

using transport::cluster_key;
using transport::security_mode;

sim_security::sim_security(const sim_handshake& form, transport::key_ring ring, std::uint64_t seed,
                           std::shared_ptr<sim_guard_counts> counts)
    : form_(form), ring_(std::move(ring)), random_(seed), counts_(std::move(counts)) {
  SCOLL_ASSERT(form.fits(), "a simulated handshake has more steps than a guard takes");
  SCOLL_ASSERT(!ring_.empty(), "a simulated security mode needs a key");
}

std::uint8_t sim_security::mode() const noexcept {
  return static_cast<std::uint8_t>(security_mode::psk);
}

std::string_view sim_security::name() const noexcept {
  return to_string(security_mode::psk);
}

result<std::unique_ptr<transport::link_guard>> sim_security::connect(transport::hello& said) noexcept {
  said.security = mode();
  said.key = ring_.sealing().id;
  auto made = std::make_unique<sim_guard>(sim_guard::side::connecting, ring_.sealing(), random_.next(), counts_);
  made->begin(said, form_);
  return std::unique_ptr<transport::link_guard>(std::move(made));
}

result<std::unique_ptr<transport::link_guard>> sim_security::accept(const transport::hello& said) noexcept {
  const cluster_key* const key = ring_.find(said.key);
  if (key == nullptr) {
    ++counts_->keys_unknown;
    return make_error(errc::not_authentic, "the key {:08x} is not in the ring of security.keys", said.key);
  }
  counts_->keys_not_first += key->id != ring_.sealing().id;
  auto made = std::make_unique<sim_guard>(sim_guard::side::accepting, *key, random_.next(), counts_);
  made->begin(said, form_);
  return std::unique_ptr<transport::link_guard>(std::move(made));
}

}  // namespace scoll::testing
