// Makes calls from another thread and gets futures: many calls are in flight at once, and the thread waits
// when it likes.
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "scoll/blocking.hpp"
#include "scoll/local_cluster.hpp"
#include "scoll/ship.hpp"

namespace {

constexpr scoll::remote_function<std::uint32_t, std::uint32_t> twice{"futures.twice"};

// [futures]
template <class Out>
using promise_of = std::shared_ptr<std::promise<scoll::ship_result<Out>>>;

template <class In, class Out>
scoll::task<scoll::status> begin(scoll::node& from, scoll::node_id to,
                                 const scoll::remote_function<In, Out>& f, In argument,
                                 promise_of<Out> promise) {
  ship_then(from.background(), from, to, f, std::move(argument),
            [promise](scoll::ship_result<Out> ended) { promise->set_value(std::move(ended)); });
  co_return scoll::status{};
}

/// Starts a call on the node's executor, from any other thread. It waits only until the call has started.
template <class In, class Out>
std::future<scoll::ship_result<Out>> ship_future(scoll::node& from, scoll::node_id to,
                                                 const scoll::remote_function<In, Out>& f, In argument) {
  const auto promise = std::make_shared<std::promise<scoll::ship_result<Out>>>();
  auto future = promise->get_future();
  scoll::run_and_wait(from, [&] { return begin(from, to, f, std::move(argument), promise); }).value();
  return future;
}
// [futures]

std::uint32_t sum_of_many(scoll::node& node, scoll::node_id peer) {
  std::vector<std::future<scoll::ship_result<std::uint32_t>>> calls;
  calls.reserve(100);
  for (std::uint32_t i = 0; i < 100; ++i) calls.push_back(ship_future(node, peer, twice, i));
  std::uint32_t sum = 0;
  for (auto& call : calls) sum += call.get().value_or(0);
  return sum;
}

}  // namespace

int main() {
  scoll::local_cluster cluster(2);
  cluster[1].serve(twice, [](const std::uint32_t& n, scoll::call_context&) { return 2 * n; }).value();
  auto sum = std::async(std::launch::async, [&] { return sum_of_many(cluster[0], cluster[1].id()); });
  while (sum.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    cluster.loop().run_once(std::chrono::milliseconds(10));
  return sum.get() == 9900 ? 0 : 1;
}
