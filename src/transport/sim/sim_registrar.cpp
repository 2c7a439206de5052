#include "transport/sim/sim_registrar.hpp"

#include <utility>

namespace scoll::testing {
namespace {

constexpr nanoseconds answer_time = std::chrono::microseconds(30);

}  // namespace

sim_registrar::sim_registrar(sim_executor& home, gate& open, const sim_remote_memory& how)
    : home_(home), open_(open), memory_(new std::byte[2 * how.slabs * how.slab_bytes]) {
  const std::size_t half = how.slabs * how.slab_bytes;
  fill(outgoing_, {memory_.get(), half}, how);
  fill(incoming_, {memory_.get() + half, half}, how);
}

sim_registrar::~sim_registrar() {
  if (timer_.armed()) home_.disarm(timer_);
}

void sim_registrar::fill(transport::slab_pool& pool, std::span<std::byte> from,
                         const sim_remote_memory& how) {
  const std::uint32_t key = enter(from);
  for (std::size_t i = 0; i < how.slabs; ++i) {
    transport::slab& s = slabs_.emplace_back();
    s.memory = {from.subspan(i * how.slab_bytes, how.slab_bytes), key, key};
    pool.add(s);
  }
}

std::uint32_t sim_registrar::enter(std::span<std::byte> memory) {
  keys_.emplace(++last_key_, memory);
  return last_key_;
}

void sim_registrar::add(transport::registration& what, std::span<std::byte> memory,
                        transport::memory_access) noexcept {
  what.local_key = what.remote_key = enter(memory);
  adding_.push_back(what);
  answer_later();
}

void sim_registrar::remove(transport::registration& what) noexcept {
  keys_.erase(what.local_key);
  removing_.push_back(what);
  answer_later();
}

void sim_registrar::answer_later() noexcept {
  if (timer_.armed()) return;
  busy_ = open_.pass();
  home_.arm(timer_, home_.now() + answer_time);
}

void sim_registrar::answer() noexcept {
  const gate_pass busy = std::move(busy_);
  intrusive_list<transport::registration, transport::registration> added;
  intrusive_list<transport::registration, transport::registration> removed;
  added.splice(adding_);
  removed.splice(removing_);
  while (!added.empty()) added.pop_front().on_added({});
  while (!removed.empty()) removed.pop_front().on_removed();
}

bool sim_registrar::holds(std::uint32_t key, std::span<const std::byte> bytes) const noexcept {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return false;
  const std::span<const std::byte> all = found->second;
  return bytes.data() >= all.data() && bytes.data() + bytes.size() <= all.data() + all.size();
}

}  // namespace scoll::testing
