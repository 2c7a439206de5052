#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "member.hpp"

namespace bench {

/// Exchanges requests of class call and replies, both of this many bytes, between endpoints: framed, checksummed,
/// acknowledged, with credits. Process 0 asks the others in turn. `keys` is the file of the ring that guards the
/// connections; empty: they are in the clear. `hosts` are the addresses of the devices of all processes; empty:
/// TCP over loopback.
void play_exchanges(member& me, std::uint32_t size, const std::string& congestion_control,
                    const std::string& keys = {}, const std::vector<std::string>& hosts = {});

}  // namespace bench
