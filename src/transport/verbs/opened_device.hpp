#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "transport/io/buffer.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/verbs_api.hpp"
#include "transport/verbs/verbs_options.hpp"

namespace scoll::transport::verbs {

/// The size of a place for what arrives, and of a slab that is sent from: a frame with 8 KiB lies in one.
inline constexpr std::size_t slot_bytes = 9216;
/// The sends of one queue pair that may be under way, and those among them that carry promises alone.
inline constexpr std::uint32_t sends_per_pair = 128;
inline constexpr std::uint32_t news_per_pair = 4;
/// The size up to which data is sent inline, if the device can do it.
inline constexpr std::uint32_t inline_bytes = 256;

struct free_memory {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using memory_block = std::unique_ptr<std::byte, free_memory>;
/// Memory in whole pages; null if there is none.
memory_block allocate_block(std::size_t bytes) noexcept;

/// A device with everything that all links share: its queues, and registered memory to receive into and to
/// send from. It is made and destroyed where blocking is allowed.
class opened_device {
 public:
  /// Opens the device that `options` names, or the first that has the address `host`, or the first that is
  /// active. Errors name the device and the remedy.
  static result<std::unique_ptr<opened_device>> open(verbs_api& api, const verbs_options& options,
                                                     const std::string& host);
  ~opened_device();
  opened_device(const opened_device&) = delete;
  opened_device& operator=(const opened_device&) = delete;

  /// Lets go of the places for what arrives, on the executor's thread. Those that services hold stay valid.
  void forget_slots() noexcept;
  /// Ends the registration of memory with the device.
  void take_over(memory_object& registered) { taken_over_.push_back(&registered); }

  std::string name;
  device_limits limits;
  port_facts port;
  gid address{};
  std::uint32_t gid_index = 0;
  std::unique_ptr<device_context> context;
  completion_queue* completions = nullptr;
  receive_queue* receives = nullptr;
  std::uint32_t slot_key = 0;
  std::unique_ptr<buffer_pool> slots;
  std::vector<buffer_ref> posted;  // by index
  slab_pool slabs;

 private:
  opened_device() = default;
  status use(std::unique_ptr<device_context> opened, const verbs_options& options, const std::string& host);
  status make_queues(const verbs_options& options);
  status register_memory(const verbs_options& options);
  result<memory_object*> obtain(memory_block& block, std::size_t count);

  memory_block slot_memory_;
  memory_block slab_memory_;
  memory_object* slot_object_ = nullptr;
  memory_object* slab_object_ = nullptr;
  std::vector<memory_object*> taken_over_;
  std::deque<slab> all_slabs_;
  bool held_ = false;  // some slots, by services, when they were forgotten
};

/// Reads an IP address as people write it, without a port. Error: `invalid_argument`.
result<gid> parse_gid(const std::string& host);
/// The address as people write it.
std::string to_text(const gid& address);

}  // namespace scoll::transport::verbs
