#pragma once

/// The fuzzer and the replay of its corpus run this code. Any bytes either decode or fail with an error. A
/// decoded value encodes again, to the same bytes if nothing was skipped. The first byte of an input chooses
/// the type.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "transport/wire/wire.hpp"

namespace fuzz {

namespace wire = scoll::wire;

enum class color : std::uint8_t { red, green, blue };
constexpr bool wire_valid(color value) {
  return value <= color::blue;
}

struct nothing {};

struct plain {
  std::uint64_t a;
  std::uint16_t b;
  bool c;
  color d;
  double e;
};

struct tree {
  std::uint8_t value;
  std::vector<tree> children;
};

struct conditional {
  bool has_text;
  std::string text;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(has_text);
    if (has_text) archive(text);
  }
};

struct versioned {
  static constexpr std::uint16_t wire_version = 3;
  std::uint32_t a;
  std::vector<std::uint16_t> b;
};

struct everything {
  plain fixed;
  std::vector<plain> many;
  std::optional<std::string> note;
  std::vector<std::vector<std::uint32_t>> table;
  std::vector<bool> flags;
  wire::varint count;
  std::tuple<std::int8_t, std::pair<bool, float>> tuple;
  std::array<std::optional<color>, 2> colors;
  wire::borrowed_string borrowed;
  wire::borrowed_bytes blob;
  std::vector<conditional> described;
  std::vector<nothing> empty;
  tree nested;
};

struct outer {
  std::vector<versioned> parts;
  std::optional<versioned> last;
  std::chrono::nanoseconds left;
};

inline void require(bool holds) {
  if (!holds) std::abort();
}

template <class T>
std::vector<std::byte> encoded(const T& value) {
  std::vector<std::byte> data(wire::encoded_size(value));
  require(wire::encode_to(data, value).has_value());
  return data;
}

/// Without versions there is one encoding for each value.
template <class T>
void exact(std::span<const std::byte> data) {
  const auto value = wire::decode_from<T>(data);
  if (!value) return require(value.error() == scoll::errc::malformed && !value.error().text().empty());
  const auto again = encoded(*value);
  require(std::ranges::equal(again, data));
}

/// The second encoding lacks the extra bytes of a newer sender. It must then stay the same.
template <class T>
void stable(std::span<const std::byte> data) {
  const auto value = wire::decode_from<T>(data);
  if (!value) return require(value.error() == scoll::errc::malformed && !value.error().text().empty());
  const auto again = encoded(*value);
  require(again.size() <= data.size());
  exact<T>(again);
}

inline void decode_as(std::uint8_t type, std::span<const std::byte> data) {
  switch (type % 8) {
    case 0: return exact<plain>(data);
    case 1: return exact<everything>(data);
    case 2: return exact<tree>(data);
    case 3: return stable<outer>(data);
    case 4: return exact<std::vector<conditional>>(data);
    case 5: return exact<std::vector<std::vector<nothing>>>(data);
    case 6: return exact<std::vector<wire::varint>>(data);
    default: return exact<std::vector<std::optional<std::string>>>(data);
  }
}

inline void wire_input(std::span<const std::uint8_t> data) {
  if (!data.empty()) decode_as(data.front(), std::as_bytes(data.subspan(1)));
}

}  // namespace fuzz
