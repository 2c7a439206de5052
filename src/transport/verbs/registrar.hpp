#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/opened_device.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

class device;

/// The memory of a rail that READs use: its slabs, and what its users have registered. It stays registered as
/// long as its users want, over all failures of the device: a device that is opened again registers all of it
/// anew before there are links.
class registrar final : public memory_registrar {
 public:
  explicit registrar(device& owner) noexcept;
  ~registrar();
  registrar(const registrar&) = delete;
  registrar& operator=(const registrar&) = delete;

  void add(registration& what, std::span<std::byte> memory, memory_access access) noexcept override;
  void remove(registration& what) noexcept override;
  slab_pool& outgoing() noexcept override { return outgoing_; }
  slab_pool& incoming() noexcept override { return incoming_; }

  /// What was registered under a key; null if it is registered no longer.
  const memory_object* find_object(std::uint32_t local_key) const noexcept;
  /// Says why links cannot READ; `ok` if the device that is open has registered everything.
  const status& usable() const noexcept { return usable_; }

  // For the device, which is being opened or closed:
  class renewal;
  /// All memory that is to be registered with the device that is about to be opened.
  std::unique_ptr<renewal> begin_renewal();
  void end_renewal(std::unique_ptr<renewal> done, const status& opened) noexcept;
  /// Leaves everything that is registered to a device that is about to be closed.
  void leave_to(opened_device& closing) noexcept;
  /// The control queue has something to do for it.
  bool busy() const noexcept { return jobs_ != 0; }

 private:
  class entry;

  entry* find(const registration& what) noexcept;
  register_for for_peers() const noexcept;
  void make_slabs();
  void name_keys(std::span<std::byte> of, const memory_object& made) noexcept;
  void forget(entry& gone) noexcept;
  void job_done() noexcept;

  device& device_;
  status usable_ = error(errc::unreachable, "verbs: the device is not open");
  std::vector<std::unique_ptr<entry>> entries_;
  std::size_t jobs_ = 0;

  memory_block slab_memory_;
  std::deque<slab> slabs_;
  slab_pool outgoing_;
  slab_pool incoming_;
};

/// The registration of memory with a device that is being opened, which happens on the control thread.
class registrar::renewal {
 public:
  /// Stops at the first failure.
  void perform(device_context& context) noexcept;

 private:
  friend class registrar;
  struct item {
    entry* of;
    std::span<std::byte> memory;
    register_for use;
    memory_object* made;
  };

  std::vector<item> items_;
  status outcome_;
};

}  // namespace scoll::transport::verbs
