#include "coro.hpp"

#ifndef SCOLL_BENCH_ASIO

std::unique_ptr<bench::coro::layer> bench::coro::make_asio() {
  return nullptr;
}

#else

#include <asio.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/channel.hpp>

namespace bench::coro {
namespace {

using asio::awaitable;
using asio::use_awaitable;
using number_channel = asio::experimental::channel<void(asio::error_code, std::uint32_t)>;

awaitable<void> switch_often(std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) co_await asio::post(use_awaitable);
}

awaitable<std::uint32_t> child(std::uint32_t i) {
  co_return i;
}
awaitable<void> await_children(std::uint32_t count) {
  volatile std::uint32_t sum = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t value = co_await child(i);
    sum = sum + value;
  }
}

awaitable<void> produce(number_channel& q, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) co_await q.async_send(asio::error_code(), i, use_awaitable);
}
awaitable<void> consume(number_channel& q, std::uint32_t count) {
  for (std::uint32_t i = 0; i < count; ++i) static_cast<void>(co_await q.async_receive(use_awaitable));
}

awaitable<void> sleep_often(std::uint32_t count) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (std::uint32_t i = 0; i < count; ++i) {
    timer.expires_after(std::chrono::nanoseconds(0));
    co_await timer.async_wait(use_awaitable);
  }
}

/// The context is told that one thread runs it, which saves wake-ups.
class asio_layer final : public layer {
 public:
  void switches(std::uint32_t count) override { drive(switch_often(count)); }
  void children(std::uint32_t count) override { drive(await_children(count)); }
  void queue(std::uint32_t count) override {
    number_channel q(context_, 64);
    asio::co_spawn(context_, consume(q, count), asio::detached);
    drive(produce(q, count));
  }
  void timers(std::uint32_t count) override { drive(sleep_often(count)); }

 private:
  void drive(awaitable<void> work) {
    asio::co_spawn(context_, std::move(work), asio::detached);
    context_.restart();
    context_.run();
  }
  asio::io_context context_{1};
};

}  // namespace

std::unique_ptr<layer> make_asio() {
  return std::make_unique<asio_layer>();
}

}  // namespace bench::coro

#endif
