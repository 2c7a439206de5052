#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/kit/options.hpp"

namespace bench::coro {

/// The usual operations of a coroutine layer, each done `count` times in one coroutine or two.
class layer {
 public:
  virtual ~layer() = default;
  /// Suspends and is resumed by the loop.
  virtual void switches(std::uint32_t count) = 0;
  /// Awaits a child that returns a number at once.
  virtual void children(std::uint32_t count) = 0;
  /// Passes items through a bounded queue of 64 between a producer and a consumer.
  virtual void queue(std::uint32_t count) = 0;
  /// Waits for a time that has already come.
  virtual void timers(std::uint32_t count) = 0;
};

std::unique_ptr<layer> make_scoll();
/// Returns null if this was built without Asio.
std::unique_ptr<layer> make_asio();

rows run(const bench::options& o);

}  // namespace bench::coro
