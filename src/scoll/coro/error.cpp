#include "scoll/coro/error.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"

namespace scoll {
namespace {

class scoll_category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "scoll"; }
  std::string message(int value) const override { return std::string(to_string(static_cast<errc>(value))); }
};

}  // namespace

std::string_view to_string(errc code) noexcept {
  switch (code) {
    case errc::ok: return "ok";
    case errc::cancelled: return "cancelled";
    case errc::deadline_exceeded: return "deadline_exceeded";
    case errc::busy: return "busy";
    case errc::too_large: return "too_large";
    case errc::malformed: return "malformed";
    case errc::checksum_mismatch: return "checksum_mismatch";
    case errc::wrong_cluster: return "wrong_cluster";
    case errc::version_mismatch: return "version_mismatch";
    case errc::unknown_service: return "unknown_service";
    case errc::unknown_group: return "unknown_group";
    case errc::membership_changed: return "membership_changed";
    case errc::not_parent: return "not_parent";
    case errc::not_member: return "not_member";
    case errc::duplicate_target: return "duplicate_target";
    case errc::connection_lost: return "connection_lost";
    case errc::peer_rebooted: return "peer_rebooted";
    case errc::unreachable: return "unreachable";
    case errc::closed: return "closed";
    case errc::hook_failed: return "hook_failed";
    case errc::invalid_argument: return "invalid_argument";
    case errc::io_error: return "io_error";
    case errc::unsupported: return "unsupported";
    case errc::incomplete: return "incomplete";
    case errc::not_found: return "not_found";
    case errc::already_exists: return "already_exists";
    case errc::unknown_tree: return "unknown_tree";
    case errc::stale: return "stale";
    case errc::stale_descriptor: return "stale_descriptor";
    case errc::peer_died: return "peer_died";
    case errc::view_differs: return "view_differs";
    case errc::unknown_function: return "unknown_function";
    case errc::type_mismatch: return "type_mismatch";
    case errc::revoked: return "revoked";
    case errc::undecided: return "undecided";
    case errc::no_quorum: return "no_quorum";
    case errc::excluded: return "excluded";
    case errc::record_gone: return "record_gone";
    case errc::id_in_use: return "id_in_use";
    case errc::not_authentic: return "not_authentic";
    case errc::not_authorised: return "not_authorised";
  }
  return "unknown_error";
}

const std::error_category& error_category() noexcept {
  static const scoll_category category;
  return category;
}

std::error_code error::std_code() const noexcept {
  if (domain_ == error_domain::system) return {detail_, std::generic_category()};
  return make_error_code(code_);
}

error detail::format_error(errc code, fmt::string_view format, fmt::format_args args) noexcept try {
  char text[2 * error::text_capacity];  // long enough to see where the text can be cut
  const auto end = fmt::vformat_to_n(text, sizeof text, format, args);
  return {code, {text, std::min(end.size, sizeof text)}};
} catch (...) {
  return {code, {format.data(), format.size()}};
}

void detail::no_value(const error& instead) noexcept {
  std::fprintf(stderr,
               "scoll: broken invariant: value of a result that holds an error: %s "
               "(test the result first, or call value(), which throws)\n",
               describe(instead).c_str());
  std::fflush(stderr);
  std::abort();
}

failure::failure(const scoll::error& e) : std::system_error(e.std_code(), std::string(e.text())), error_(e) {}

std::string describe(const error& e) {
  std::string line(to_string(e.code()));
  if (!e.text().empty()) line.append(": ").append(e.text());
  switch (e.domain()) {
    case error_domain::system:
      return fmt::format("{}: {} (errno {})", line, std::generic_category().message(e.detail()), e.detail());
    case error_domain::user: return fmt::format("{} (user error {})", line, e.detail());
    case error_domain::scoll: break;
  }
  return e.detail() == 0 ? line : fmt::format("{} (detail {})", line, e.detail());
}

}  // namespace scoll
