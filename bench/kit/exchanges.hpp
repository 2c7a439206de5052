#pragma once

#include <cstdint>
#include <string>

#include "member.hpp"

namespace bench {

/// Requests of class call and replies, of so many bytes both, between endpoints over TCP: framed,
/// checksummed, acknowledged, with credits. Process 0 asks the others in turn.
void play_exchanges(member& me, std::uint32_t size, const std::string& congestion_control);

}  // namespace bench
