#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/sim/small_queue.hpp"
#include "transport/sim/verbs/fake_fabric.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::testing {

/// The memory windows of one fake queue pair. A request about them is carried out when the READs that were posted
/// before it are complete.
class fake_windows {
 public:
  fake_windows(fake_pair& pair, std::uint32_t count) : pair_(pair), windows_(count) {}

  std::size_t under_way() const noexcept { return posted_.size(); }
  std::size_t bound() const noexcept;
  std::uint32_t key(std::uint32_t number) const noexcept { return windows_[number].key; }
  /// The memory behind a key and an address; null if no bound window reaches all of it.
  const std::byte* find(std::uint32_t key, std::uint64_t address, std::size_t size) const noexcept;
  /// Some window is bound to this memory.
  bool use(const transport::verbs::memory_object* memory) const noexcept;

  /// So many READs are under way, and complete first.
  void post(const transport::verbs::window_request& what, std::size_t reads) noexcept;
  void on_read_complete() noexcept;
  void fail() noexcept;

 private:
  struct window {
    std::uint32_t key = 0;  // of the binding that was posted last
    std::uint32_t bound_key = 0;
    const transport::verbs::memory_object* memory = nullptr;
    std::uint64_t address = 0;
    std::span<std::byte> bytes;
  };
  struct posted {
    transport::verbs::window_request request;
    std::uint32_t key = 0;
    std::size_t reads_before = 0;
  };

  void work() noexcept;
  bool perform(const posted& what) noexcept;

  fake_pair& pair_;
  std::vector<window> windows_;
  small_queue<posted> posted_;
};

}  // namespace scoll::testing
