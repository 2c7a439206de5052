#pragma once

#include <utility>

#include "transfers.hpp"
#include "transport/memory/registered_memory.hpp"

/// Nodes whose hardware reads memory.
namespace transfers {

inline registered_memory registered(world& w, node& at, std::span<std::byte> memory,
                                    memory_access access = memory_access::read_write) {
  std::optional<registered_memory> made;
  const auto run = [](endpoint& ep, std::span<std::byte> what, memory_access how,
                      std::optional<registered_memory>& into) -> task<> {
    auto registered = co_await register_memory(ep, what, how);
    if (registered) into = std::move(*registered);
  };
  const background work(w.ex(), run(*at.ep, memory, access, made));
  REQUIRE(w.until([&] { return work.done(); }));
  REQUIRE(made.has_value());
  return std::move(*made);
}

/// Ends a registration and waits for that.
inline void end(world& w, registered_memory what) {
  const background work(w.ex(), what.release());
  REQUIRE(w.until([&] { return work.done(); }));
}

/// True if no slab is in use, no right is out and nothing is read.
inline bool is_idle(two& p) {
  for (node* n : {p.left.get(), p.right.get()}) {
    memory_service& memory = n->ep->memory();
    memory_registrar& slabs = *n->transport().registrar(0);
    if (memory.giver().out() != 0 || memory.readers().running() != 0 || memory.remote().open() != 0 ||
        slabs.outgoing().in_use() != 0 || slabs.incoming().in_use() != 0)
      return false;
  }
  return true;
}

inline std::uint64_t forced(const two& p) {
  return p.left->ep->statistics().forced_fences + p.right->ep->statistics().forced_fences;
}

}  // namespace transfers
