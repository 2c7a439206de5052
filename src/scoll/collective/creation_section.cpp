#include "scoll/collective/creation_section.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include "scoll/collective/group_admin.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {
namespace {

void put_terms(wire::writer& out, creation_form form, const creation_terms& terms) {
  wire::encode(out, static_cast<std::uint8_t>(form));
  wire::encode(out, static_cast<std::uint8_t>(terms.ends_with));
  wire::encode(out, static_cast<std::uint8_t>(terms.within.has_value()));
  if (terms.within) wire::encode(out, *terms.within);
  const std::string_view name = terms.name.text();
  wire::encode(out, static_cast<std::uint8_t>(name.size()));
  std::byte* const at = out.claim(name.size());
  if (at != nullptr && !name.empty()) std::memcpy(at, name.data(), name.size());
}

void put_creation(wire::writer& out, const creation_terms& terms, const membership& members) {
  put_terms(out, terms.inline_only ? creation_form::members_only : creation_form::members, terms);
  put_membership(out, members);
}

result<std::size_t> written(const wire::writer& out, std::size_t room) {
  if (out.ok()) return out.needed();
  return make_error(errc::too_large, "the creation of a group takes {} bytes: {} are left", out.needed(),
                    room);
}

std::uint8_t take_byte(wire::reader& in) {
  std::uint8_t byte = 0;
  wire::decode(in, byte);
  return byte;
}

status take_terms(wire::reader& in, creation_terms& terms) {
  const std::uint8_t ends_with = take_byte(in);
  if (ends_with > static_cast<std::uint8_t>(lifetime::members))
    return make_error(errc::malformed, "a creation with lifetime {}", ends_with);
  terms.ends_with = static_cast<lifetime>(ends_with);
  const std::uint8_t has_outer = take_byte(in);
  if (has_outer > 1) return make_error(errc::malformed, "a creation within {} groups", has_outer);
  if (has_outer == 1) wire::decode(in, terms.within.emplace());
  const std::size_t size = take_byte(in);
  const std::byte* const name = in.take(size, "name of a group");
  if (!in.ok()) return in.error();
  const std::string_view text(reinterpret_cast<const char*>(name), size);
  if (!group_name::allowed(text)) return make_error(errc::malformed, "a group with a name of {} bytes", size);
  terms.name = text;
  return {};
}

}  // namespace

result<std::size_t> encode_creation(const creation_terms& terms, const membership& members,
                                    std::span<std::byte> into) noexcept {
  wire::writer out(into);
  put_creation(out, terms, members);
  return written(out, into.size());
}

result<std::size_t> encode_creation(const creation_terms& terms,
                                    const transport::region_descriptor& elsewhere,
                                    std::span<std::byte> into) noexcept {
  wire::writer out(into);
  put_terms(out, creation_form::descriptor, terms);
  wire::encode(out, elsewhere);
  return written(out, into.size());
}

std::size_t creation_bytes(const creation_terms& terms, const membership& members) noexcept {
  wire::writer out({});
  put_creation(out, terms, members);
  return out.needed();
}

std::size_t descriptor_creation_bytes(const creation_terms& terms) noexcept {
  wire::writer out({});
  put_terms(out, creation_form::descriptor, terms);
  wire::encode(out, transport::region_descriptor{});
  return out.needed();
}

result<creation_section> decode_creation(std::span<const std::byte> bytes) {
  wire::reader in(bytes);
  const std::uint8_t form = take_byte(in);
  if (form > static_cast<std::uint8_t>(creation_form::members_only))
    return make_error(errc::malformed, "a creation of form {}", form);
  creation_section read;
  if (const status terms = take_terms(in, read.terms); !terms) return terms.error();
  read.terms.inline_only = static_cast<creation_form>(form) == creation_form::members_only;
  if (static_cast<creation_form>(form) == creation_form::descriptor) {
    wire::decode(in, read.elsewhere.emplace());
    in.finish();
    if (!in.ok()) return in.error();
    return read;
  }
  auto targets = decode_membership(bytes.subspan(in.position()));
  if (!targets) return targets.error();
  read.targets = std::move(*targets);
  return read;
}

}  // namespace scoll::detail
