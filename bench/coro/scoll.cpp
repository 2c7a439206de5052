#include "bench/kit/backend.hpp"
#include "coro.hpp"
#include "scoll/coro/async_queue.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/coro/yield.hpp"
#include "transport/io/reactor.hpp"

namespace bench::coro {
namespace {

using namespace scoll;

task<void> switch_often(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) co_await yield();
}

task<std::uint32_t> child(std::uint32_t i) {
  co_return i;
}
task<void> await_children(std::uint32_t count) {
  volatile std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t value = co_await child(i);
    sum = sum + value;
  }
}

task<void> produce(async_queue<std::uint32_t>& q, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) (co_await q.push(i)).ignore();
}
task<void> consume(async_queue<std::uint32_t>& q, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) (co_await q.pop()).ignore();
}
task<void> use_queue(std::uint32_t count) {
  async_queue<std::uint32_t> q(64);
  co_await when_all(produce(q, count), consume(q, count));
}

task<void> sleep_often(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) co_await sleep_for(nanoseconds(0));
}

class scoll_layer final : public layer {
 public:
  void switches(std::uint32_t count) override { drive(switch_often(count)); }
  void children(std::uint32_t count) override { drive(await_children(count)); }
  void queue(std::uint32_t count) override { drive(use_queue(count)); }
  void timers(std::uint32_t count) override { drive(sleep_often(count)); }

 private:
  task<void> then_stop(task<void> work) {
    co_await std::move(work);
    ring_->stop();
  }
  /// Runs as a server does, with one turn after the other.
  void drive(task<void> work) {
    scope home(*ring_);
    home.spawn(then_stop(std::move(work)));
    ring_->run();
    while (!home.try_join()) ring_->run_once(nanoseconds(0));
  }
  std::unique_ptr<transport::reactor> ring_ = make_reactor();
};

}  // namespace

std::unique_ptr<layer> make_scoll() {
  return std::make_unique<scoll_layer>();
}

}  // namespace bench::coro
