#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "scoll/coro/result.hpp"
#include "transport/wire/fixed_reader.hpp"
#include "transport/wire/raw.hpp"
#include "transport/wire/reader.hpp"

namespace scoll::wire {

/// The archive that `describe` is given when decoding.
class decoder {
 public:
  static constexpr bool decoding = true;

  constexpr explicit decoder(reader& in) noexcept : in_(in) {}

  template <class... Fields>
  constexpr void operator()(Fields&... fields);
  /// The sender's version of the innermost enclosing versioned struct; 0 outside of any.
  constexpr std::uint16_t version() const noexcept { return in_.version(); }

 private:
  reader& in_;
};

namespace detail {

template <class In, class T>
constexpr void get(In& in, T& value);

template <std::unsigned_integral U>
constexpr U take_unsigned(auto& in, const char* what) {
  const std::byte* from = in.take(sizeof(U), what);
  return from != nullptr ? load_little<U>(from) : U{0};
}

/// Reads a byte that may be 0 or 1; false after a defect.
constexpr bool take_flag(auto& in, const char* what) {
  const std::byte* from = in.take(1, what);
  if (from == nullptr) return false;
  const auto byte = std::to_integer<std::uint8_t>(*from);
  if (byte > 1) in.fail(defect::bad_value, what, byte, from);
  return byte == 1;
}

template <class T>
constexpr void check_valid(auto& in, const T& value) {
  if constexpr (validated<T>) {
    if (!wire_valid(value)) in.fail(defect::refused, "", 0);
  }
}

template <class In, class T>
constexpr void get_members(In& in, T& value) {
  visit_members(value, [&in](auto&... member) { (detail::get(in, member), ...); });
}

template <class T>
inline constexpr const char* name_of = kind_v<T> == kind::array ? "array" : "struct";

/// Checks once for all bytes of a value of fixed size.
template <class T>
constexpr void get_fixed(reader& in, T& value) {
  const std::byte* from = nullptr;
  if constexpr (fixed_size<T> != 0) {
    from = in.take(fixed_size<T>, name_of<T>);
    if (from == nullptr) return;
  }
  fixed_reader inner(from, in);
  detail::get(inner, value);
}

template <class T>
void get_raw(auto& in, T* values, std::size_t count, const char* what) {
  if (count == 0) return;
  const std::byte* from = in.take(count * sizeof(T), what);
  if (from != nullptr) std::memcpy(static_cast<void*>(values), from, count * sizeof(T));
}

/// Assigns to a string or a vector of bytes, without filling it with zeros first.
template <class T>
constexpr void assign_bytes(T& value, const std::byte* from, std::size_t size) {
  if (size == 0) {
    value.clear();
  } else if (std::is_constant_evaluated()) {
    value.resize(size);
    copy_bytes(value.data(), from, size);
  } else {
    const auto* first = reinterpret_cast<const typename T::value_type*>(from);
    value.assign(first, first + size);
  }
}

template <class T>
constexpr void get_text(reader& in, T& value) {
  const std::size_t size = in.take_length("string");
  const std::byte* from = in.take(size, "string");
  if (in.ok()) assign_bytes(value, from, size);
}

template <class Vector>
constexpr void get_elements(reader& in, Vector& values) {
  using element = typename Vector::value_type;
  if constexpr (std::same_as<element, bool>) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = take_flag(in, "bool");
  } else if constexpr (has_fixed_size<element>) {
    const std::byte* from = in.take(values.size() * fixed_size<element>, "vector");
    fixed_reader inner(from, in);
    for (element& value : values) detail::get(inner, value);
  } else {
    if (!in.enter()) return;
    for (element& value : values) {
      detail::get(in, value);
      if (!in.ok()) return;
    }
    in.leave();
  }
}

/// Reads a vector. The count is checked against the bytes that are left before anything is allocated for it.
/// Existing elements are decoded over, so a vector that is used again keeps the memory it owns.
template <class Vector>
constexpr void get_vector(reader& in, Vector& values) {
  using element = typename Vector::value_type;
  const std::size_t count = in.take_count("vector", min_wire_size<element>);
  if (!in.ok()) return;
  if constexpr (one_of<element, std::byte, unsigned char, char>) {
    assign_bytes(values, in.take(count, "vector"), count);
  } else {
    values.resize(count);
    if constexpr (raw_copyable<element>) {
      if (!std::is_constant_evaluated()) return get_raw(in, values.data(), count, "vector");
    }
    get_elements(in, values);
  }
}

template <class T>
constexpr void get_optional(reader& in, T& value) {
  if (!take_flag(in, "optional tag")) {
    value.reset();
  } else if (in.ok()) {
    if (!value) value.emplace();
    detail::get(in, *value);
  }
}

template <class T>
constexpr void get_described(reader& in, T& value) {
  if (!in.enter()) return;
  decoder archive(in);
  describe_with(archive, value);
  in.leave();
  if (in.ok()) check_valid(in, value);
}

template <class T>
constexpr void get_versioned(reader& in, T& value) {
  const auto version = take_unsigned<std::uint16_t>(in, "version");
  if (in.ok() && version == 0) in.fail(defect::bad_value, "version", version);
  const std::size_t size = in.take_length("versioned struct");
  if (!in.ok()) return;
  const std::byte* outer_end = in.narrow(size);
  const std::uint16_t outer = in.set_version(version);
  if constexpr (described<T>) {
    get_described(in, value);
  } else {
    get_members(in, value);
    if (in.ok()) check_valid(in, value);
  }
  in.set_version(outer);
  if (version > T::wire_version && in.ok()) in.skip_rest();
  in.finish();
  in.widen(outer_end);
}

template <class In, class T>
constexpr void get_struct(In& in, T& value) {
  if constexpr (raw_copyable<T>) {
    if (!std::is_constant_evaluated()) return get_raw(in, &value, 1, name_of<T>);
  }
  if constexpr (has_fixed_size<T> && std::same_as<In, reader>) {
    get_fixed(in, value);
  } else if constexpr (kind_v<T> == kind::plain_struct) {
    get_members(in, value);
    check_valid(in, value);
  } else if constexpr (kind_v<T> == kind::tuple) {
    std::apply([&in](auto&... element) { (detail::get(in, element), ...); }, value);
  } else {
    for (auto& element : value) detail::get(in, element);
  }
}

template <class T, class In>
constexpr void get_enumeration(In& in, T& value) {
  std::underlying_type_t<T> number{};
  detail::get(in, number);
  value = static_cast<T>(number);
  check_valid(in, value);
}

template <class T>
constexpr void get_borrowed(reader& in, T& value) {
  const std::size_t size = in.take_length(kind_v<T> == kind::borrowed_string ? "string" : "bytes");
  const std::byte* from = in.take(size, "");
  if (!in.ok()) return;
  if constexpr (kind_v<T> == kind::borrowed_string) {
    value.view = {reinterpret_cast<const char*>(from), size};
  } else {
    value.view = {from, size};
  }
}

template <class In, class T>
constexpr void get(In& in, T& value) {
  require_form<T>();
  constexpr kind form = kind_v<T>;
  if constexpr (form == kind::boolean) {
    value = take_flag(in, "bool");
  } else if constexpr (form == kind::integer) {
    value = static_cast<T>(take_unsigned<unsigned_of<sizeof(T)>>(in, "integer"));
  } else if constexpr (form == kind::enumeration) {
    get_enumeration(in, value);
  } else if constexpr (form == kind::floating) {
    value = std::bit_cast<T>(take_unsigned<unsigned_of<sizeof(T)>>(in, "floating-point number"));
  } else if constexpr (form == kind::duration) {
    value = T(static_cast<std::int64_t>(take_unsigned<std::uint64_t>(in, "duration")));
  } else if constexpr (form == kind::varint) {
    value.value = take_varint(in);
  } else if constexpr (form == kind::string) {
    get_text(in, value);
  } else if constexpr (form == kind::borrowed_string || form == kind::borrowed_bytes) {
    get_borrowed(in, value);
  } else if constexpr (form == kind::vector) {
    get_vector(in, value);
  } else if constexpr (form == kind::optional) {
    get_optional(in, value);
  } else if constexpr (form == kind::versioned) {
    get_versioned(in, value);
  } else if constexpr (form == kind::described) {
    get_described(in, value);
  } else if constexpr (form != kind::none) {
    get_struct(in, value);
  }
}

}  // namespace detail

template <class... Fields>
constexpr void decoder::operator()(Fields&... fields) {
  (detail::get(in_, fields), ...);
}

/// Reads the next value over `value`. False if the bytes are malformed: see `reader::error`. Then `value` is
/// unspecified, but it can be destroyed and assigned. Fields that a description leaves out keep their
/// content. Only strings and vectors allocate, and never before their bytes are known to be there: in all at
/// most `sizeof(T) / min_wire_size<T>` times the message's size.
template <class T>
constexpr bool decode(reader& in, T& value) {
  detail::get(in, value);
  return in.ok();
}

/// Decodes a message that is one value. Error: `malformed`, also if bytes are left over. A type with borrowed
/// members points into `from`.
template <class T>
result<T> decode_from(std::span<const std::byte> from) {
  static_assert(std::default_initializable<T>, "scoll::wire: decode_from<T> starts from a T{}");
  T value{};
  reader in(from);
  if (decode(in, value)) in.finish();
  if (!in.ok()) return in.error();
  return result<T>(std::move(value));
}

}  // namespace scoll::wire
