#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace scoll::wire {

/// A struct with `static constexpr std::uint16_t wire_version = n;` (n >= 1) is preceded on the wire by its
/// version and its length. A receiver that knows fewer fields than a newer sender skips the rest; with any
/// other version, bytes left over or missing are malformed. New fields go to the end. A struct that must also
/// read older senders describes itself and asks: `if (archive.version() >= 2) archive(added_in_2);`
template <class T>
concept has_wire_version =
    requires { requires std::same_as<std::remove_const_t<decltype(T::wire_version)>, std::uint16_t>; };

/// Gives a version to a type that does not state one itself.
template <class T, std::uint16_t Version>
struct versioned {
  static constexpr std::uint16_t wire_version = Version;

  T value{};

  friend constexpr bool operator==(const versioned&, const versioned&) = default;
};

}  // namespace scoll::wire
