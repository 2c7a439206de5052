#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "encodable.hpp"

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

template <class T, class... Around>
constexpr void sign(signature_text& out);

template <class... Around, class... M>
constexpr void sign_all(signature_text& out, type_list<M...> /*types*/) {
  std::size_t i = 0;
  ((i++ != 0 ? out.put(',') : void(), sign<M, Around...>(out)), ...);
}
template <class... Around, class... M>
constexpr void sign_elements(signature_text& out, const std::tuple<M...>* /*types*/) {
  sign_all<Around...>(out, type_list<M...>{});
}
template <class... Around, class First, class Second>
constexpr void sign_elements(signature_text& out, const std::pair<First, Second>* /*types*/) {
  sign_all<Around...>(out, type_list<First, Second>{});
}

template <class T, class... Around>
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
    sign<std::underlying_type_t<T>>(out);
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
    sign<typename T::value_type, Around...>(out);
    out.put(']');
  } else if constexpr (form == kind::optional) {
    sign<typename T::value_type, Around...>(out);
    out.put('?');
  } else if constexpr (form == kind::array) {
    sign<typename T::value_type, Around...>(out);
    out.put('*');
    out.put_number(std::tuple_size_v<T>);
  } else if constexpr (form == kind::versioned) {
    out.put("versioned");
  } else if constexpr (form == kind::described) {
    out.put("described");
  } else {
    out.put('{');
    if constexpr (form == kind::tuple) {
      sign_elements<Around...>(out, static_cast<const T*>(nullptr));
    } else if constexpr (form == kind::plain_struct) {
      sign_all<T, Around...>(out, member_types<T>{});
    }
    out.put('}');
  }
}

template <class T>
inline constexpr auto signature_storage = [] {
  constexpr std::size_t size = [] {
    signature_text counted(nullptr);
    sign<T>(counted);
    return counted.size();
  }();
  std::array<char, size> text{};
  signature_text out(text.data());
  sign<T>(out);
  return text;
}();

}  // namespace detail

/// What a type looks like on the wire, as text: `{u64,text,[u32]}`. Two types with one signature are encoded
/// alike. Of a struct with a version it says no more than that, for its versions are to understand each other
/// (`F2`); nor of one that describes itself.
template <encodable T>
inline constexpr std::string_view signature{detail::signature_storage<T>.data(),
                                            detail::signature_storage<T>.size()};

}  // namespace scoll::wire
