#pragma once

#include <memory>
#include <utility>

#include "scoll/coro/gate.hpp"
#include "scoll/detail/service_table.hpp"

namespace scoll::detail {

/// A registered service, and the gate that its operations are inside of.
struct service_entry {
  const service_table* table = nullptr;
  void* instance = nullptr;
  void (*destroy)(void*) noexcept = nullptr;
  gate users;
  bool survives_revoke = false;  ///< its operations go on when their group is revoked

  service_entry() = default;
  ~service_entry() {
    if (destroy != nullptr) destroy(instance);
  }
  service_entry(const service_entry&) = delete;
  service_entry& operator=(const service_entry&) = delete;
};

template <class S>
std::shared_ptr<service_entry> make_service_entry(S service) {
  auto entry = std::make_shared<service_entry>();
  entry->table = &table_of<S>;
  entry->instance = new S(std::move(service));
  entry->destroy = [](void* instance) noexcept { delete static_cast<S*>(instance); };
  return entry;
}

}  // namespace scoll::detail
