#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

using scoll::test::hex;
using bytes = std::vector<std::byte>;

/// Hexadecimal digits; blanks between them are ignored.
inline bytes from_hex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ') digits += c;
  }
  REQUIRE(digits.size() % 2 == 0);
  bytes data;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    data.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  }
  return data;
}

template <class T>
bytes encoded(const T& value) {
  bytes data(scoll::wire::encoded_size(value));
  if (scoll::wire::encode_to(data, value).value() != data.size())
    throw std::logic_error("encoded_size is wrong");
  return data;
}

/// Returns the text of the error when `data` is decoded as a T; empty if it decodes.
template <class T>
std::string defect_of(std::span<const std::byte> data) {
  const auto value = scoll::wire::decode_from<T>(data);
  if (value) return {};
  if (value.error() != scoll::errc::malformed) throw std::logic_error("a defect that is not malformed");
  return std::string(value.error().text());
}

template <class T>
std::string defect_of_hex(std::string_view text) {
  return defect_of<T>(from_hex(text));
}

using defect_function = std::string (*)(std::span<const std::byte>);

/// The part of `check_bytes` that is the same for all types, kept apart because assertions are slow to
/// compile.
inline void check_encoding(const bytes& data, std::string_view expected, bool decodes_to_value,
                           defect_function defect) {
  CHECK(hex(data) == hex(from_hex(expected)));
  CHECK(decodes_to_value);
  for (auto end = data.begin(); end != data.end(); ++end) {
    // A copy of its own, so that a sanitizer sees the first byte read beyond it.
    CHECK_FALSE(defect(bytes(data.begin(), end)).empty());
  }
  bytes longer = data;
  longer.push_back(std::byte{0});
  CHECK(defect(longer) == "1 bytes left over at offset " + std::to_string(data.size()));
}

/// Checks that the value has exactly these bytes, and that they decode to the value but fewer or more bytes
/// do not.
template <class T>
void check_bytes(const T& value, std::string_view expected) {
  const bytes data = encoded(value);
  const bool large_enough = data.size() >= scoll::wire::min_wire_size<T>;
  const auto back = scoll::wire::decode_from<T>(data);
  check_encoding(data, expected, large_enough && back && *back == value, &defect_of<T>);
}

/// Adds up the memory that decoding requested.
struct allocation_count {
  static inline std::size_t bytes = 0;
  static inline std::size_t calls = 0;
  static void reset() { bytes = calls = 0; }
};

template <class T>
struct counting_allocator {
  using value_type = T;

  counting_allocator() = default;
  template <class U>
  counting_allocator(const counting_allocator<U>& /*other*/) {}

  T* allocate(std::size_t count) {
    allocation_count::bytes += count * sizeof(T);
    ++allocation_count::calls;
    return std::allocator<T>{}.allocate(count);
  }
  void deallocate(T* place, std::size_t count) { std::allocator<T>{}.deallocate(place, count); }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
};

template <class T>
using counted_vector = std::vector<T, counting_allocator<T>>;
using counted_string = std::basic_string<char, std::char_traits<char>, counting_allocator<char>>;
