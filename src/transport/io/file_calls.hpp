#pragma once

#include <cstdint>

#include "transport/io/reactor.hpp"

namespace scoll::transport {

/// Does what the slot says about a file or a directory, by system calls that may block. Gives a count, a
/// descriptor, or a negative errno.
std::int32_t call_file(const detail::io_slot& s) noexcept;

}  // namespace scoll::transport
