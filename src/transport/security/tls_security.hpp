#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "transport/security/file_watch.hpp"
#include "transport/security/security_options.hpp"
#include "transport/security/tls_material.hpp"
#include "transport/session/link_guard.hpp"

namespace scoll::transport {

/// The modes `psk` and `tls`.
class tls_security final : public link_security {
 public:
  tls_security(security_options options, std::string_view cluster);
  ~tls_security() override = default;

  /// Reads the files. Errors: those of `tls_material::read`.
  status load();

  std::uint8_t mode() const noexcept override { return static_cast<std::uint8_t>(options_.mode); }
  std::string_view name() const noexcept override { return to_string(options_.mode); }
  result<std::unique_ptr<link_guard>> connect(hello& said) noexcept override;
  result<std::unique_ptr<link_guard>> accept(const hello& said) noexcept override;
  bool trusts_fabric() const noexcept override { return options_.fabric == fabric_trust::trusted; }
  security_snapshot look() override;
  std::string news() override { return std::exchange(news_, {}); }

 private:
  void refresh() noexcept;
  void read_again();
  void warn_of_expiry();
  void note_old_key(const tls_psk& used) noexcept;

  security_options options_;
  std::string cluster_;
  std::shared_ptr<security_counts> counts_ = std::make_shared<security_counts>();
  std::shared_ptr<const tls_material> material_;
  file_watch files_;
  std::chrono::steady_clock::time_point warned_at_;  // of the certificate's end, or not yet
  std::string news_;
};

}  // namespace scoll::transport
