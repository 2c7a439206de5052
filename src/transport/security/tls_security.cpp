#include "transport/security/tls_security.hpp"

#include <array>
#include <exception>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/security/tls_guard.hpp"

namespace scoll::transport {
namespace {

// A certificate that ends sooner than this is warned of, at the start and once a day.
constexpr std::int64_t expiry_notice_days = 30;
constexpr std::int64_t seconds_of_day = 86'400;
constexpr auto expiry_interval = std::chrono::hours(24);

// Files are looked at no more often than this, so that a flood of connections costs no calls of the system.
constexpr auto look_interval = std::chrono::seconds(1);

}  // namespace

std::string_view to_string(security_mode mode) noexcept {
  switch (mode) {
    case security_mode::none: return "none";
    case security_mode::psk: return "psk";
    case security_mode::tls: return "tls";
  }
  return "unknown";
}

std::string_view to_string(fabric_trust trust) noexcept {
  switch (trust) {
    case fabric_trust::refused: return "refused";
    case fabric_trust::trusted: return "trusted";
  }
  return "unknown";
}

status security_options::validate() const {
  if (mode == security_mode::none) return {};
  if (keys.empty()) {
    return make_error(errc::invalid_argument, "security.mode {} needs the file of the ring: security.keys",
                      to_string(mode));
  }
  if (mode == security_mode::psk || (!ca.empty() && !certificate.empty() && !key.empty())) return {};
  return error(errc::invalid_argument,
               "security.mode tls needs security.ca, security.certificate and security.key");
}

result<std::shared_ptr<link_security>> make_security(const security_options& options,
                                                     std::string_view cluster) {
  if (const status s = options.validate(); !s) return s.error();
  if (options.mode == security_mode::none) return std::shared_ptr<link_security>();
  auto made = std::make_shared<tls_security>(options, cluster);
  if (const status s = made->load(); !s) return s.error();
  return std::shared_ptr<link_security>(std::move(made));
}

tls_security::tls_security(security_options options, std::string_view cluster)
    : options_(std::move(options)),
      cluster_(cluster),
      files_({options_.keys, options_.ca, options_.certificate, options_.key}, look_interval) {}

status tls_security::load() {
  auto material = tls_material::read(options_, cluster_, counts_);
  if (!material) return material.error();
  material_ = std::move(*material);
  warn_of_expiry();
  return {};
}

void tls_security::warn_of_expiry() {
  warned_at_ = std::chrono::steady_clock::now();
  const auto left = material_->seconds_left();
  if (!left || *left >= expiry_notice_days * seconds_of_day) return;
  news_ = *left < 0
              ? fmt::format("the certificate {} has expired: nobody believes this node", options_.certificate)
              : fmt::format("the certificate {} expires in {} days and {} hours", options_.certificate,
                            *left / seconds_of_day, *left % seconds_of_day / 3600);
}

/// Whoever still offers another key than the first one of the ring would be refused if that key were removed.
void tls_security::note_old_key(const tls_psk& used) noexcept {
  if (used.id == material_->offered().id) return;
  ++counts_->older_keys;
  if (!news_.empty()) return;
  news_ = fmt::format(
      "a connection was made with the key {:08x}, which is not the first one of the ring ({:08x})", used.id,
      material_->offered().id);
}

/// A failure leaves the secrets as they are; the files are tried again when they change again.
void tls_security::refresh() noexcept {
  if (!files_.due()) return;
  try {
    if (std::chrono::steady_clock::now() - warned_at_ >= expiry_interval) warn_of_expiry();
    read_again();
  } catch (const std::exception&) {
    return;
  }
}

void tls_security::read_again() {
  if (!files_.changed()) return;
  if (const status s = load(); !s) {
    news_ =
        fmt::format("the changed files of security.mode {} cannot be used, the earlier ones stay in use: {}",
                    name(), describe(s.error()));
    return;
  }
  if (news_.empty()) news_ = fmt::format("the changed files of security.mode {} are in use", name());
}

security_snapshot tls_security::look() {
  read_again();
  security_snapshot now;
  now.mode = name();
  now.fabric = to_string(options_.fabric);
  now.keys.assign(material_->key_ids().begin(), material_->key_ids().end());
  now.certificate_seconds = material_->seconds_left();
  now.counts = *counts_;
  return now;
}

result<std::unique_ptr<link_guard>> tls_security::connect(hello& said) noexcept {
  refresh();
  said.security = mode();
  const tls_psk* const key = options_.mode == security_mode::psk ? &material_->offered() : nullptr;
  if (key != nullptr) said.key = key->id;
  return tls_guard::make(material_, key, tls_guard::side::connecting, said);
}

result<std::unique_ptr<link_guard>> tls_security::accept(const hello& said) noexcept {
  refresh();
  if (options_.mode != security_mode::psk)
    return tls_guard::make(material_, nullptr, tls_guard::side::accepting, said);
  const tls_psk* const key = material_->find(said.key);
  if (key == nullptr) {
    ++counts_->unknown_keys;
    return make_error(errc::not_authentic, "the key {:08x} is not in the ring of security.keys", said.key);
  }
  note_old_key(*key);
  return tls_guard::make(material_, key, tls_guard::side::accepting, said);
}

}  // namespace scoll::transport
