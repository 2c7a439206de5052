#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/node_access.hpp"
#include "scoll/ship/ship.hpp"
#include "scoll/ship/shipper.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"

namespace scoll::test {

struct pair_of {
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  friend bool operator==(const pair_of&, const pair_of&) = default;
};

inline constexpr remote_function<pair_of, std::uint64_t> add{"test.add"};
inline constexpr remote_function<std::string, std::string> shout{"test.shout"};
inline constexpr remote_function<std::vector<std::uint8_t>, std::vector<std::uint8_t>> echo{"test.echo"};
inline constexpr remote_function<nothing, std::uint64_t> wait_until_told{"test.wait"};
inline constexpr remote_function<std::uint32_t> fail{"test.fail"};

/// Handlers that record their calls.
struct handlers {
  std::uint32_t begun = 0;
  std::uint32_t ended = 0;
  std::uint32_t stopped = 0;
  event go;
  node_id last_caller = 0;
  nanoseconds last_remaining{};

  void serve_all(node& n) {
    n.serve(add, [this](const pair_of& p, call_context& c) -> std::uint64_t {
       ++begun;
       last_caller = c.caller();
       last_remaining = c.remaining().left(c.get_executor().now());
       return std::uint64_t{p.left} + p.right;
     }).value();
    n.serve(shout, [this](const std::string& s, call_context&) -> task<result<std::string>> {
       ++begun;
       co_return s + "!";
     }).value();
    n.serve(echo, [this](const std::vector<std::uint8_t>& v, call_context&) { return ++begun, v; }).value();
    n.serve(wait_until_told, [this](const nothing&, call_context& c) -> task<result<std::uint64_t>> {
       ++begun;
       const status s = co_await go.wait(c.stop());
       ++ended;
       if (s) co_return 7U;
       ++stopped;
       co_return s.error();
     }).value();
    n.serve(fail, [this](const std::uint32_t& how, call_context&) -> task<status> {
       ++begun;
       if (how == 0) throw std::runtime_error("thrown by a handler");
       if (how == 1) co_return error::user(42, "told to fail");
       co_return status{};
     }).value();
  }
};

/// A call that has been started and runs while the test continues.
template <class Out>
class call_flight {
 public:
  template <class In>
  call_flight(cluster& c, node& from, node_id to, const remote_function<In, Out>& f, const In& argument,
              ship_options options = {})
      : cluster_(c), scope_(c.get_executor()), began_(c.now()) {
    scope_.spawn(go(from, to, f, argument, options));
    c.run_ready();
  }
  ~call_flight() { land(); }
  call_flight(const call_flight&) = delete;

  bool done() const { return result_.has_value(); }
  ship_result<Out>& land() {
    if (!joined_) cluster_.run(join());
    joined_ = true;
    return *result_;
  }
  nanoseconds took() const { return ended_ - began_; }

 private:
  template <class In>
  task<void> go(node& from, node_id to, const remote_function<In, Out>& f, In argument,
                ship_options options) {
    auto r = co_await ship(from, to, f, argument, options);
    result_.emplace(std::move(r));
    ended_ = cluster_.now();
  }
  task<void> join() { co_await scope_.join(); }

  cluster& cluster_;
  scope scope_;
  std::optional<ship_result<Out>> result_;
  bool joined_ = false;
  time_point began_;
  time_point ended_{};
};

template <class In, class Out>
task<ship_result<Out>> shipped(node& from, node_id to, const remote_function<In, Out>& f, In argument,
                               ship_options options = {}) {
  auto r = co_await ship(from, to, f, argument, options);
  co_return r;
}

template <class In, class Out>
ship_result<Out> ask(cluster& c, std::uint32_t from, node_id to, const remote_function<In, Out>& f,
                     const std::type_identity_t<In>& argument, ship_options options = {}) {
  return c.run(shipped<In, Out>(c[from], to, f, argument, options));
}

/// True if no node holds anything of any call, a while after everything has ended.
inline bool calls_over(cluster& c) {
  if (!c.quiet()) return false;
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    if (!c.alive(i)) continue;
    const auto& s = scoll::detail::node_access::shipper(c[i]);
    if (s.server_calls() != 0 || s.outgoing() != 0 || s.large_held() != 0) return false;
  }
  return true;
}

}  // namespace scoll::test
