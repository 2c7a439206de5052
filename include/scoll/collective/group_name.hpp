#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace scoll {

/// A short name of a group, for people who read errors and status pages. It has at most 32 bytes and no
/// control characters. It identifies nothing: two groups may have the same name. Trivially copyable.
class group_name {
 public:
  static constexpr std::size_t most_bytes = 32;

  constexpr group_name() noexcept = default;
  /// Takes a text that `allowed` accepts. Any other text makes a name that is not `valid`.
  constexpr group_name(std::string_view text) noexcept : refused_(!allowed(text)) {
    if (refused_) return;
    for (std::size_t i = 0; i < text.size(); ++i) bytes_[i] = text[i];
    size_ = static_cast<std::uint8_t>(text.size());
  }
  constexpr group_name(const char* text) noexcept : group_name(std::string_view(text)) {}
  group_name(const std::string& text) noexcept : group_name(std::string_view(text)) {}

  static constexpr bool allowed(std::string_view text) noexcept {
    for (const char c : text) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    }
    return text.size() <= most_bytes;
  }

  constexpr bool empty() const noexcept { return size_ == 0; }
  constexpr std::string_view text() const noexcept { return {bytes_.data(), size_}; }
  /// False if the text was not allowed. Groups refuse such a name.
  constexpr bool valid() const noexcept { return !refused_; }

  friend constexpr bool operator==(const group_name&, const group_name&) = default;

 private:
  std::array<char, most_bytes> bytes_{};
  std::uint8_t size_ = 0;
  bool refused_ = false;
};

}  // namespace scoll
