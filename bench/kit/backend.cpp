#include "backend.hpp"

#include <liburing.h>

namespace bench {

using scoll::transport::reactor;

std::unique_ptr<reactor> make_reactor() {
  scoll::transport::reactor_options options;
  options.announce = false;
  return reactor::create(options).value();
}

const std::string& backend_name() {
  static const std::string name = reactor::create().value()->features().backend;
  return name;
}

bool raw_rings_offered() {
  static const bool offered = [] {
    io_uring ring;
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (io_uring_queue_init_params(8, &ring, &params) != 0) return false;
    io_uring_queue_exit(&ring);
    return true;
  }();
  return offered;
}

}  // namespace bench
