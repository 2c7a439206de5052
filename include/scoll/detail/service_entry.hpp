#pragma once

#include <cstdint>

#include "../../coro/event.hpp"

namespace scoll::detail {

struct service_table;

/// A registered service and how many operations use it.
struct service_entry {
  const service_table* table = nullptr;
  void* instance = nullptr;
  void (*destroy)(void*) noexcept = nullptr;
  std::uint32_t running = 0;
  bool closing = false;
  event idle;

  service_entry() = default;
  ~service_entry() {
    if (destroy != nullptr) destroy(instance);
  }
  service_entry(const service_entry&) = delete;
  service_entry& operator=(const service_entry&) = delete;
};

}  // namespace scoll::detail
