#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::testing {

/// The registered memory of one simulated rail. Its answers come a little later.
class sim_registrar final : public transport::memory_registrar {
 public:
  /// What it has still to answer keeps `open` from being empty.
  sim_registrar(sim_executor& home, gate& open, const sim_remote_memory& how);
  ~sim_registrar();
  sim_registrar(const sim_registrar&) = delete;
  sim_registrar& operator=(const sim_registrar&) = delete;

  void add(transport::registration& what, std::span<std::byte> memory,
           transport::memory_access access) noexcept override;
  void remove(transport::registration& what) noexcept override;
  transport::slab_pool& outgoing() noexcept override { return outgoing_; }
  transport::slab_pool& incoming() noexcept override { return incoming_; }

  /// True if bytes lie in the memory that was registered under a key.
  bool holds(std::uint32_t key, std::span<const std::byte> bytes) const noexcept;

 private:
  std::uint32_t enter(std::span<std::byte> memory);
  void fill(transport::slab_pool& pool, std::span<std::byte> from, const sim_remote_memory& how);
  void answer_later() noexcept;
  void answer() noexcept;

  sim_executor& home_;
  gate& open_;
  gate_pass busy_;
  std::unique_ptr<std::byte[]> memory_;  // of all slabs
  std::deque<transport::slab> slabs_;
  transport::slab_pool outgoing_;
  transport::slab_pool incoming_;
  std::uint32_t last_key_ = 0;
  std::map<std::uint32_t, std::span<std::byte>> keys_;
  intrusive_list<transport::registration, transport::registration> adding_;
  intrusive_list<transport::registration, transport::registration> removing_;
  member_timer<&sim_registrar::answer> timer_{*this};
};

}  // namespace scoll::testing
