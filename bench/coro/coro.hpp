#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../kit/options.hpp"

namespace bench::coro {

/// What a coroutine layer does all day, `count` times in one coroutine or two.
class layer {
 public:
  virtual ~layer() = default;
  /// Suspends and is resumed by the loop.
  virtual void switches(std::uint32_t count) = 0;
  /// Awaits a child that returns a number at once.
  virtual void children(std::uint32_t count) = 0;
  /// A bounded queue of 64 between a producer and a consumer.
  virtual void queue(std::uint32_t count) = 0;
  /// Waits for a point in time that has come.
  virtual void timers(std::uint32_t count) = 0;
};

std::unique_ptr<layer> make_scoll();
/// Null if this was built without Asio.
std::unique_ptr<layer> make_asio();

rows run(const bench::options& o);

}  // namespace bench::coro
