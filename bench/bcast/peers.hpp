#pragma once

#include <memory>
#include <span>

#include "bcast.hpp"
#include "bench/kit/group_contestant.hpp"

namespace bench::bcast {

/// Another library that does the same job in the way it chooses: a program beside this one, whose source is
/// in bench/peers/.
struct peer {
  const char* subject;
  const char* program;
  const char* packages;  ///< Debian packages that it is built from
};
std::span<const peer> all_peers() noexcept;

/// Throws if a peer has not been built, naming the packages.
void require_peers();

std::unique_ptr<group_contestant> start(const peer& p, const setting& s);

}  // namespace bench::bcast
