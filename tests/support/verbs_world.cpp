#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/stacked_rail.hpp"
#include "tests/support/world.hpp"
#ifdef SCOLL_HAS_VERBS
#include "transport/verbs/ibverbs.hpp"
#endif

namespace scoll::test {

fake_verbs_world::~fake_verbs_world() {
  const auto seen = devices.statistics();
  CHECK(seen.receivers_not_ready == 0);
  CHECK(seen.illegal_calls == 0);
  CHECK(seen.protection_errors == 0);
  CHECK(seen.access_errors == forged_reads_);
  CHECK(seen.stalled_reads == 0);
  CHECK(seen.overruns == 0);
  CHECK(seen.queue_pairs == 0);
  CHECK(seen.address_handles == 0);
}

std::unique_ptr<transport::rail> fake_verbs_world::make_rail(node_id node) {
  return std::make_unique<stacked_rail>(clock, memory_world::make_rail(node),
                                        devices.api(clock, host_of(node)), options);
}

namespace {

std::vector<std::pair<std::string, std::string>> named_devices() {
  std::vector<std::pair<std::string, std::string>> all;
  const char* const text = std::getenv("SCOLL_TEST_RXE");
  for (std::string_view rest = text == nullptr ? "" : text; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), one.size() + 1));
    const auto mark = one.find('=');
    if (mark == std::string_view::npos) FAIL("SCOLL_TEST_RXE must be like rxe1=10.0.0.1,rxe2=10.0.0.2");
    all.emplace_back(one.substr(0, mark), one.substr(mark + 1));
  }
  return all;
}

}  // namespace

rxe_world::rxe_world(bool reads) : tcp_world(family::v4), options(testing::scarce_verbs()) {
  if (!reads) options.read_depth = 0;
  // To register memory is slow there, and first connections wait for it.
  options.read_slabs = 4;
  options.read_slab_bytes = 65536;
  if (const char* const windows = std::getenv("SCOLL_TEST_RXE_WINDOWS"))
    options.windows = static_cast<std::uint32_t>(std::stoul(windows));
}

const std::vector<std::pair<std::string, std::string>>& rxe_world::devices() {
  static const auto all = named_devices();
  return all;
}

#ifdef SCOLL_HAS_VERBS
std::unique_ptr<transport::rail> rxe_world::make_rail(node_id node) {
  const auto& [device, address] = devices()[node % devices().size()];
  transport::verbs_options own = options;
  own.device = device;
  own.address = address;
  return std::make_unique<stacked_rail>(loop(), tcp_world::make_rail(node), transport::use_ibverbs(loop()),
                                        own);
}
#else
std::unique_ptr<transport::rail> rxe_world::make_rail(node_id) {
  FAIL("SCOLL_TEST_RXE is set, and this build has no scoll::verbs");
  return nullptr;
}
#endif

}  // namespace scoll::test
