#include <cstdio>

#include "scoll/node_rails.hpp"
#include "transport/verbs/ibverbs.hpp"
#include "transport/verbs/verbs_survey.hpp"

/// Looks for RDMA devices, of which there may be none, and makes the rails of a node that may use them.
int main() {
  const auto loop = scoll::transport::reactor::create().value();
  const scoll::rail_options options{.devices = scoll::transport::use_ibverbs(*loop)};
  const scoll::node_rails rails(*loop, scoll::parse_rails("a=verbs://127.0.0.1:0").rails, options);
  const auto found = scoll::transport::survey_verbs(*options.devices, options.verbs);
  std::printf("rdma: %s\n",
              rails.size() == 1 && (found.usable() || !found.troubles.empty() || !found.devices.empty())
                  ? "ok"
                  : "no");
}
