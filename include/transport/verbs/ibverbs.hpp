#pragma once

#include <memory>

#include "transport/io/reactor.hpp"

namespace scoll::transport {

class verbs_api;

/// The RDMA devices of this machine, by libibverbs, for verbs rails on one reactor. Link `scoll::verbs`. It
/// must outlive those rails, and the reactor must outlive it. A rail finds out whether there are devices.
std::shared_ptr<verbs_api> use_ibverbs(reactor& home);

}  // namespace scoll::transport
