#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "transport/wire/encodable.hpp"
#include "transport/wire/layout.hpp"

namespace scoll::wire {
namespace detail {

/// Counts the characters of a signature, or keeps them.
class signature_text {
 public:
  constexpr explicit signature_text(char* into) noexcept : into_(into) {}

  constexpr void put(char c) noexcept {
    if (into_ != nullptr) into_[size_] = c;
    ++size_;
  }
  constexpr void put(std::string_view text) noexcept {
    for (const char c : text) put(c);
  }
  constexpr void put_number(std::size_t n) noexcept {
    if (n >= 10) put_number(n / 10);
    put(static_cast<char>('0' + n % 10));
  }
  constexpr std::size_t size() const noexcept { return size_; }

 private:
  char* into_;
  std::size_t size_ = 0;
};

/// `Version` is the version of the innermost enclosing versioned struct; `Around` are the enclosing structs.
template <class T, std::uint16_t Version, class... Around>
constexpr void sign(signature_text& out);

template <std::uint16_t Version, class... Around, class... M>
constexpr void sign_all(signature_text& out, type_list<M...> /*types*/) {
  std::size_t i = 0;
  ((i++ != 0 ? out.put(',') : void(), sign<M, Version, Around...>(out)), ...);
}
template <std::uint16_t Version, class... Around, class... M>
constexpr void sign_elements(signature_text& out, const std::tuple<M...>* /*types*/) {
  sign_all<Version, Around...>(out, type_list<M...>{});
}
template <std::uint16_t Version, class... Around, class First, class Second>
constexpr void sign_elements(signature_text& out, const std::pair<First, Second>* /*types*/) {
  sign_all<Version, Around...>(out, type_list<First, Second>{});
}

/// The archive that writes the signature of what a description names.
template <std::uint16_t Version, class... Around>
class signer {
 public:
  static constexpr bool decoding = false;

  constexpr explicit signer(signature_text& out) noexcept : out_(out) {}

  template <class... Fields>
  constexpr void operator()(const Fields&... /*fields*/) noexcept {
    ((fields_++ != 0 ? out_.put(',') : void(), sign<Fields, Version, Around...>(out_)), ...);
  }
  constexpr std::uint16_t version() const noexcept { return Version; }

 private:
  signature_text& out_;
  std::size_t fields_ = 0;
};

template <class T, std::uint16_t Version, class... Around>
constexpr void sign_description(signature_text& out) {
  signer<Version, T, Around...> archive(out);
  follow_description<T>(archive);
}
template <class T, std::uint16_t Version, class... Around>
consteval std::size_t description_size() {
  signature_text counted(nullptr);
  sign_description<T, Version, Around...>(counted);
  return counted.size();
}

/// True if the description does not depend on values.
template <class T, std::uint16_t Version, class... Around>
concept signable =
    requires { typename std::integral_constant<std::size_t, description_size<T, Version, Around...>()>; };

template <class T, std::uint16_t Version, class... Around>
constexpr void sign_members(signature_text& out) {
  out.put('{');
  if constexpr (kind_v<T> == kind::tuple) {
    sign_elements<Version, Around...>(out, static_cast<const T*>(nullptr));
  } else if constexpr (member_wise<T>) {
    sign_all<Version, T, Around...>(out, member_types<T>{});
  } else if constexpr (signable<T, Version, Around...>) {
    sign_description<T, Version, Around...>(out);
  } else {
    out.put("described");
  }
  out.put('}');
}

template <class T, std::uint16_t Version, class... Around>
constexpr void sign(signature_text& out) {
  constexpr kind form = kind_v<T>;
  if constexpr (one_of<T, Around...>) {
    out.put('^');  // a struct that holds a vector of itself
  } else if constexpr (form == kind::boolean) {
    out.put("bool");
  } else if constexpr (form == kind::integer) {
    out.put(std::is_signed_v<T> ? 'i' : 'u');
    out.put_number(8 * sizeof(T));
  } else if constexpr (form == kind::enumeration) {
    sign<std::underlying_type_t<T>, Version>(out);
  } else if constexpr (form == kind::floating) {
    out.put('f');
    out.put_number(8 * sizeof(T));
  } else if constexpr (form == kind::duration) {
    out.put("time/");
    out.put_number(T::period::num);
    out.put(':');
    out.put_number(T::period::den);
  } else if constexpr (form == kind::varint) {
    out.put("varint");
  } else if constexpr (form == kind::string || form == kind::borrowed_string) {
    out.put("text");
  } else if constexpr (form == kind::borrowed_bytes) {
    out.put("[u8]");
  } else if constexpr (form == kind::vector) {
    out.put('[');
    sign<typename T::value_type, Version, Around...>(out);
    out.put(']');
  } else if constexpr (form == kind::optional) {
    sign<typename T::value_type, Version, Around...>(out);
    out.put('?');
  } else if constexpr (form == kind::array) {
    sign<typename T::value_type, Version, Around...>(out);
    out.put('*');
    out.put_number(std::tuple_size_v<T>);
  } else if constexpr (form == kind::versioned) {
    out.put('@');
    out.put_number(T::wire_version);
    sign_members<T, T::wire_version, Around...>(out);
  } else {
    sign_members<T, Version, Around...>(out);
  }
}

template <class T>
inline constexpr auto signature_storage = [] {
  constexpr std::size_t size = [] {
    signature_text counted(nullptr);
    sign<T, 0>(counted);
    return counted.size();
  }();
  std::array<char, size> text{};
  signature_text out(text.data());
  sign<T, 0>(out);
  return text;
}();

}  // namespace detail

/// The form of a type on the wire, as text: `{u64,text,[u32]}`. Two types with one signature are encoded
/// alike, except for those that hold a `{described}`: a struct whose description depends on values, about
/// which the signature says no more. A struct with a version is `@3{u64,text}`.
template <encodable T>
inline constexpr std::string_view signature{detail::signature_storage<T>.data(),
                                            detail::signature_storage<T>.size()};

}  // namespace scoll::wire
