#pragma once

#include <cstdint>

#include "transport/io/reactor.hpp"

namespace scoll::transport {

/// Carries out a slot's operation on a file or a directory by system calls that may block. The result is a
/// count, a descriptor, or a negative errno.
std::int32_t call_file(const detail::io_slot& s) noexcept;

}  // namespace scoll::transport
