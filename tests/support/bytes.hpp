#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// Loops over every byte of megabytes, for tests. They are optimised in every build, so that a sanitized
/// build does not spend its time here.
namespace scoll::test {

/// Makes bytes that differ from place to place and from salt to salt.
std::vector<std::byte> made(std::size_t size, std::uint64_t salt);

bool same(std::span<const std::byte> a, std::span<const std::byte> b);
/// The number of bytes before the first one that differs.
std::size_t same_up_to(std::span<const std::byte> a, std::span<const std::byte> b);
/// True if each byte of `memory` is that of `a` or that of `b`, which are as long.
bool is_mixture(std::span<const std::byte> memory, std::span<const std::byte> a,
                std::span<const std::byte> b);
bool holds_any(std::span<const std::byte> memory, std::byte b);
bool holds_only(std::span<const std::byte> memory, std::byte b);
void fill(std::span<std::byte> memory, std::byte b);
/// The bytes as hexadecimal digits.
std::string hex(std::span<const std::byte> bytes);
void replace(std::span<std::byte> memory, std::byte before, std::byte after);

}  // namespace scoll::test
