#include <sys/socket.h>

#include <cstdint>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "tests/transport/tcp/proxied.hpp"

using namespace network;

namespace {

/// Has the kernel keep little of what this process sends to that address.
void keep_little(const std::string& address) {
  const int little = 20000;
  int found = 0;
  for (int fd = 3; fd < 1024; ++fd) {
    const auto to = peer_address(fd);
    if (!to || to->to_string() != address) continue;
    REQUIRE(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &little, sizeof little) == 0);
    ++found;
  }
  REQUIRE(found != 0);
}

}  // namespace

TEST_CASE("large messages arrive whole and in order although the socket took parts of them", "[reactor]") {
  constexpr std::uint32_t count = 1024;  // far more than what the sockets hold
  endpoint_options from = options_of(1);
  endpoint_options to = options_of(2);
  from.queue_limit = to.queue_limit = count;
  to.window.fill(count);
  proxied p(from, to);
  p.between.slow = true;
  call first;
  REQUIRE(p.calls(first, count));
  p.b.in.order.clear();
  keep_little(p.between.address());

  std::deque<call> calls;
  std::uint64_t all = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t size = i % 2 == 0 ? 9 : max_payload_bytes - 61 * (i % 256);
    all += size;
    REQUIRE(calls.emplace_back().start(p.a, 2, i, size).has_value());
  }
  p.w.pass(50ms);  // nobody reads
  CHECK(p.a.ep->statistics().bytes_sent < all);

  REQUIRE(p.until([&] { return std::ranges::all_of(calls, [](const call& c) { return c.ends == 1; }); }));
  CHECK(std::ranges::all_of(calls, [](const call& c) { return c.answered(); }));
  CHECK(p.b.in.damaged == 0);
  std::vector<std::uint64_t> in_order(count);
  std::iota(in_order.begin(), in_order.end(), 0);
  CHECK(p.b.in.order == in_order);
  CHECK(p.a.ep->statistics().links_broken + p.b.ep->statistics().links_broken == 0);
}
