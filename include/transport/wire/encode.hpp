#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <tuple>
#include <utility>

#include "scoll/coro/result.hpp"
#include "transport/wire/raw.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::wire {

/// The archive that `describe` is given when encoding.
class encoder {
 public:
  static constexpr bool decoding = false;

  constexpr explicit encoder(writer& out) noexcept : out_(out) {}

  template <class... Fields>
  constexpr void operator()(const Fields&... fields);
  /// The version of the innermost enclosing versioned struct; 0 outside of any.
  constexpr std::uint16_t version() const noexcept { return out_.version(); }

 private:
  writer& out_;
};

namespace detail {

/// Writes to the place that a `writer` has already found for a value of fixed size.
class fixed_writer {
 public:
  constexpr explicit fixed_writer(std::byte* next) noexcept : next_(next) {}
  [[gnu::returns_nonnull]] constexpr std::byte* claim(std::size_t size) noexcept {
    return std::exchange(next_, next_ + size);
  }

 private:
  std::byte* next_;
};

template <class Out, class T>
constexpr void put(Out& out, const T& value);

template <class Out, std::unsigned_integral U>
constexpr void put_unsigned(Out& out, U value) {
  if (std::byte* to = out.claim(sizeof value)) store_little(to, value);
}

template <class Out, class T>
constexpr void put_members(Out& out, const T& value) {
  visit_members(value, [&out](const auto&... member) { (detail::put(out, member), ...); });
}

/// Asks once for the room of a value of fixed size.
template <class T>
constexpr void put_fixed(writer& out, const T& value) {
  if constexpr (fixed_size<T> != 0) {
    if (std::byte* to = out.claim(fixed_size<T>)) {
      fixed_writer inner(to);
      detail::put(inner, value);
    }
  }
}

template <class T>
void put_raw(auto& out, const T* values, std::size_t count) {
  if (count == 0) return;
  if (std::byte* to = out.claim(count * sizeof(T))) std::memcpy(to, values, count * sizeof(T));
}

template <class Byte>
constexpr void put_bytes(writer& out, const Byte* bytes, std::size_t size) {
  out.put_length(size);
  if (std::byte* to = out.claim(size)) copy_bytes(to, bytes, size);
}

template <class Vector>
constexpr void put_elements(writer& out, const Vector& values) {
  using element = typename Vector::value_type;
  if constexpr (has_fixed_size<element>) {
    if (std::byte* to = out.claim(values.size() * fixed_size<element>)) {
      fixed_writer inner(to);
      for (const element& value : values) detail::put(inner, value);
    }
  } else {
    if (!out.enter()) return;
    for (const element& value : values) detail::put(out, value);
    out.leave();
  }
}

template <class Vector>
constexpr void put_vector(writer& out, const Vector& values) {
  using element = typename Vector::value_type;
  out.put_length(values.size());
  if constexpr (min_wire_size<element> == 0) out.count_weightless(values.size());
  if constexpr (raw_copyable<element>) {
    if (!std::is_constant_evaluated()) return put_raw(out, values.data(), values.size());
  }
  if constexpr (min_wire_size<element> != 0 || !has_fixed_size<element>) put_elements(out, values);
}

template <class T>
constexpr void put_described(writer& out, const T& value) {
  if (!out.enter()) return;
  encoder archive(out);
  // A description is one function for both directions, so it is not const; it only hands out references.
  describe_with(archive, const_cast<T&>(value));
  out.leave();
}

template <class T>
constexpr void put_versioned(writer& out, const T& value) {
  std::byte* header = out.claim(versioned_header_size);
  const std::size_t begin = out.needed();
  const std::uint16_t outer = out.set_version(T::wire_version);
  if constexpr (described<T>) {
    put_described(out, value);
  } else {
    put_members(out, value);
  }
  out.set_version(outer);
  const std::size_t size = out.needed() - begin;
  out.check_length(size);
  if (header == nullptr) return;
  store_little(header, T::wire_version);
  store_little(header + sizeof(std::uint16_t), static_cast<std::uint32_t>(size));
}

template <class Out, class T>
constexpr void put_struct(Out& out, const T& value) {
  if constexpr (raw_copyable<T>) {
    if (!std::is_constant_evaluated()) return put_raw(out, &value, 1);
  }
  if constexpr (has_fixed_size<T> && std::same_as<Out, writer>) {
    put_fixed(out, value);
  } else if constexpr (kind_v<T> == kind::plain_struct) {
    put_members(out, value);
  } else if constexpr (kind_v<T> == kind::tuple) {
    std::apply([&out](const auto&... element) { (detail::put(out, element), ...); }, value);
  } else {
    for (const auto& element : value) detail::put(out, element);
  }
}

template <class Out, class T>
constexpr void put(Out& out, const T& value) {
  require_form<T>();
  constexpr kind form = kind_v<T>;
  if constexpr (form == kind::boolean || form == kind::integer) {
    put_unsigned(out, static_cast<unsigned_of<sizeof(T)>>(value));
  } else if constexpr (form == kind::enumeration) {
    detail::put(out, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (form == kind::floating) {
    put_unsigned(out, std::bit_cast<unsigned_of<sizeof(T)>>(value));
  } else if constexpr (form == kind::duration) {
    detail::put(out, value.count());
  } else if constexpr (form == kind::varint) {
    put_varint(out, value.value);
  } else if constexpr (form == kind::string) {
    put_bytes(out, value.data(), value.size());
  } else if constexpr (form == kind::borrowed_string || form == kind::borrowed_bytes) {
    put_bytes(out, value.view.data(), value.view.size());
  } else if constexpr (form == kind::vector) {
    put_vector(out, value);
  } else if constexpr (form == kind::optional) {
    put_unsigned(out, std::uint8_t{value.has_value()});
    if (value) detail::put(out, *value);
  } else if constexpr (form == kind::versioned) {
    put_versioned(out, value);
  } else if constexpr (form == kind::described) {
    put_described(out, value);
  } else if constexpr (form != kind::none) {
    put_struct(out, value);
  }
}

}  // namespace detail

template <class... Fields>
constexpr void encoder::operator()(const Fields&... fields) {
  (detail::put(out_, fields), ...);
}

/// Appends `value`. False if it does not fit or cannot be encoded: see `writer::error`. It allocates nothing.
template <class T>
constexpr bool encode(writer& out, const T& value) {
  detail::put(out, value);
  return out.ok();
}

/// The number of bytes that `encode` would need. It walks the value, unless its type has a fixed size.
template <class T>
constexpr std::size_t encoded_size(const T& value) {
  if constexpr (has_fixed_size<T>) {
    return fixed_size<T>;
  } else {
    writer out({});
    detail::put(out, value);
    return out.needed();
  }
}

/// Encodes into the front of `into` and returns the number of bytes taken. Errors: `too_large` (naming the
/// size needed), `invalid_argument` (nested too deep).
template <class T>
result<std::size_t> encode_to(std::span<std::byte> into, const T& value) {
  writer out(into);
  if (!encode(out, value)) return out.error();
  return out.needed();
}

}  // namespace scoll::wire
