#include "transport/security/certificate_names.hpp"

#include <openssl/x509v3.h>

#include <algorithm>
#include <iterator>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

constexpr std::string_view name_scheme = "scoll://";

using names_ptr = std::unique_ptr<GENERAL_NAMES, openssl_free<&GENERAL_NAMES_free>>;

/// Takes `start` off the beginning of a text. Returns false, and leaves the text alone, if it does not begin so.
bool skip(std::string_view& text, std::string_view start) noexcept {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

certificate_names::certificate_names(const X509* certificate) {
  const names_ptr all(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* const each = sk_GENERAL_NAME_value(all.get(), i);
    if (each->type != GEN_URI) continue;
    const ASN1_IA5STRING* const uri = each->d.uniformResourceIdentifier;
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                                static_cast<std::size_t>(ASN1_STRING_length(uri)));
    if (text.starts_with(name_scheme)) uris_.emplace_back(text);
  }
}

std::string_view certificate_names::client_of(std::string_view cluster) const noexcept {
  for (std::string_view text : uris_) {
    const bool client = skip(text, name_scheme) && skip(text, cluster) && skip(text, "/client/");
    if (client && text.size() <= max_client_name_bytes && text.find('/') == std::string_view::npos)
      return text;
  }
  return {};
}

status certificate_names::speak_for(std::string_view cluster, node_id node) const noexcept {
  const std::string_view first = uris_.empty() ? std::string_view("nobody") : uris_.front();
  if (is_client(node)) {
    if (!client_of(cluster).empty()) return {};
    if (first.size() >
        name_scheme.size() + cluster.size() + std::string_view("/client/").size() + max_client_name_bytes)
      return make_error(errc::not_authentic,
                        "the certificate names {:.64}…: a client's name has at most {} bytes", first,
                        max_client_name_bytes);
    return make_error(errc::not_authentic, "the certificate names {:.64}, and no client of {:.32}", first,
                      cluster);
  }
  const std::string wanted = fmt::format("{}{}/node/{}", name_scheme, cluster, node);
  if (std::ranges::find(uris_, wanted) != uris_.end()) return {};
  return make_error(errc::not_authentic, "the certificate names {:.64}, not {:.64}", first, wanted);
}

}  // namespace scoll::transport
