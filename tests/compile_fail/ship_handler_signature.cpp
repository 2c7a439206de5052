// expect-error: a handler must be
#include "scoll/node.hpp"

constexpr scoll::remote_function<std::uint32_t, std::uint64_t> twice{"test.twice"};

void serve(scoll::node& node) {
#ifdef SCOLL_CONTROL
  auto handler = [](const std::uint32_t& n, scoll::call_context&) -> std::uint64_t { return 2 * n; };
#else
  auto handler = [](std::string n, scoll::call_context&) -> std::uint64_t { return n.size(); };
#endif
  node.serve(twice, handler).ignore();
}
