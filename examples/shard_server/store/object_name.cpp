#include "object_name.hpp"

#include <fmt/format.h>

#include <span>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/checksum.hpp"

namespace shard {
namespace {

std::uint64_t hash_of(std::string_view name) noexcept {
  return scoll::wire::checksum(std::as_bytes(std::span(name)));
}

}  // namespace

bool fits_file_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("._-+=,@").find(c) != std::string_view::npos;
}

scoll::status check_name(std::string_view name) {
  if (name.empty()) return scoll::error(scoll::errc::invalid_argument, "the name of an object is empty");
  if (name.size() > max_name_bytes) {
    return scoll::make_error(scoll::errc::invalid_argument, "a name of {} bytes: at most {} are allowed",
                             name.size(), max_name_bytes);
  }
  if (name.find('\0') != std::string_view::npos)
    return scoll::error(scoll::errc::invalid_argument, "the name of an object contains a NUL");
  return {};
}

std::uint32_t owner_rank(std::string_view name, std::uint32_t members) noexcept {
  return static_cast<std::uint32_t>(hash_of(name) % members);
}

std::size_t slot_position(std::string_view name, std::uint32_t members, std::size_t slots) noexcept {
  return static_cast<std::size_t>(hash_of(name) / members % slots);  // the remainder chose the owner
}

std::uint8_t subfolder_of(std::string_view name) noexcept {
  return static_cast<std::uint8_t>(hash_of(name) >> 56);  // not the bits that chose the owner
}

std::string file_name_of(std::string_view name, std::uint64_t generation) {
  constexpr std::size_t longest = 200;  // a file name has 255 bytes at most
  std::string text;
  for (char c : name) {
    if (text.size() >= longest) {
      text += '~';
      break;
    }
    if (fits_file_name(c)) {
      text += c;
    } else {
      text += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return fmt::format("{}.{}", text, generation);
}

}  // namespace shard
