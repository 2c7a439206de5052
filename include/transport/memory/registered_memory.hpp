#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/memory/remote_memory.hpp"

namespace scoll::transport {

class endpoint;
class registered_span;

/// Memory that is registered with the hardware of the rails that have such. Regions over it are read, and
/// transfers from and to it go, without a copy, wherever a link offers `remote()`; other memory is copied
/// through slabs there. On other transports it makes no difference. Nothing is registered by itself.
///
/// What lies in it and is used by hardware has an end that takes time: `memory_region::withdraw` ends an
/// exposure, and a transfer that is stopped may take up to 50 ms. All regions and transfers in the memory
/// must have ended before this object goes. Move-only. Thread: the endpoint's executor only. It must not
/// outlive the endpoint's rail.
class registered_memory final {
 public:
  registered_memory() noexcept;
  registered_memory(registered_memory&& other) noexcept;
  registered_memory& operator=(registered_memory&& other) noexcept;
  /// Ends the registration without a wait: the memory must stay valid until the rail has let go of it. Use
  /// `release` to know when.
  ~registered_memory();

  std::span<std::byte> bytes() const noexcept;
  /// The number of rails that it is registered with.
  std::size_t rails() const noexcept;

  /// Ends the registration, and waits until all rails have let go of the memory.
  task<void> release();

 private:
  friend task<result<registered_memory>> register_memory(endpoint& at, std::span<std::byte> memory,
                                                         memory_access access);
  explicit registered_memory(std::unique_ptr<registered_span> span) noexcept;
  void end() noexcept;

  std::unique_ptr<registered_span> span_;
};

/// Registers memory with every rail of `at` that has a registrar. `access` is what peers may be granted; this
/// node's transfers may always write to it. Errors: `already_exists` (a part of the memory is registered),
/// and those of the rails, such as too little locked memory; then it is registered with none.
task<result<registered_memory>> register_memory(endpoint& at, std::span<std::byte> memory,
                                                memory_access access = memory_access::read_write);

}  // namespace scoll::transport
