#pragma once

#include <cstddef>
#include <span>

#include "transport/session/endpoint.hpp"

namespace bench {

/// Makes a message that carries `bytes`. They are checksummed each time, as new ones would be. Throws when no
/// buffer is left.
scoll::transport::message& compose(scoll::transport::endpoint& by, std::span<const std::byte> bytes);

}  // namespace bench
