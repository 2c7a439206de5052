#pragma once

#include <memory>
#include <string_view>

#include "scoll/coro/result.hpp"
#include "transport/io/address.hpp"
#include "transport/io/reactor.hpp"
#include "transport/verbs/ibverbs.hpp"

namespace scoll::kit {

/// True if messages or bulk data for an address go by RDMA.
inline bool needs_rdma(std::string_view address) noexcept {
  using namespace transport;
  return split_name(address_of_lane(address, lane_id::control)).transport == "verbs" ||
         split_name(address_of_lane(address, lane_id::bulk)).transport == "verbs";
}

/// The RDMA devices of this machine for `node_rails`, if a program needs them; otherwise null. Error:
/// `unsupported` if the program was built without libibverbs.
inline result<std::shared_ptr<transport::verbs_api>> devices_if(bool needed,
                                                                [[maybe_unused]] transport::reactor& loop) {
  if (!needed) return std::shared_ptr<transport::verbs_api>();
#ifdef SCOLL_HAS_VERBS
  return transport::use_ibverbs(loop);
#else
  return error(
      errc::unsupported,
      "this program was built without RDMA: install libibverbs-dev and build it with SCOLL_VERBS=ON");
#endif
}

}  // namespace scoll::kit
