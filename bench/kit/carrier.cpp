#include "carrier.hpp"

#include <stdexcept>

#include "caller.hpp"
#include "transport/tcp/tcp_rail.hpp"
#ifdef SCOLL_HAS_VERBS
#include "transport/verbs/ibverbs.hpp"
#include "transport/verbs/verbs_rail.hpp"
#endif

namespace bench {

using namespace scoll::transport;

carrier::carrier(reactor& home, const std::string& congestion_control, const std::string& verbs)
    : listen_address_((verbs.empty() ? "127.0.0.1" : verbs) + ":0") {
  rails_.push_back(std::make_unique<tcp_rail>(home, rail_options(congestion_control)));
  if (verbs.empty()) return;
#ifdef SCOLL_HAS_VERBS
  devices_ = use_ibverbs(home);
  rails_.push_back(std::make_unique<verbs_rail>(home, *devices_, *rails_.front()));
#endif
  if (!verbs_built())
    throw std::runtime_error("this build has no libibverbs: install libibverbs-dev, and build again");
}

carrier::~carrier() {
  while (!rails_.empty()) rails_.pop_back();
}

bool verbs_built() noexcept {
#ifdef SCOLL_HAS_VERBS
  return true;
#else
  return false;
#endif
}

}  // namespace bench
