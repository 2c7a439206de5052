#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/registrations.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class right_readers;
class session;
struct endpoint_statistics;

/// The object that waits for a reading.
class read_waiter {
 public:
  /// The reading has ended: hardware has let go of all memory, and the reader is free. Errors:
  /// `connection_lost` (the link of the right has ended), `checksum_mismatch`, `stale_descriptor` (the memory
  /// to read into was recalled).
  virtual void on_read(const status& outcome) noexcept = 0;

 protected:
  ~read_waiter() = default;
};

/// Reads all that a right grants into a range of local memory: at once if that is registered, else through one
/// slab, in as many rounds as it takes.
class right_reader final : public list_hook<> {
 public:
  explicit right_reader(right_readers& owner) noexcept;

  /// False while it waits for a slab.
  bool posted() const noexcept { return left_ != 0; }
  /// True if hardware writes to the local memory itself.
  bool direct() const noexcept { return span_ != nullptr; }
  /// Another object waits from now on.
  void hand_over(read_waiter& waiter) noexcept { waiter_ = &waiter; }
  /// Breaks the link of the posted reads, so that they complete soon.
  void cut() noexcept { at_->cut(); }

 private:
  friend class right_readers;
  struct place final : borrower {
    explicit place(right_reader& of) noexcept : borrower(&taken), owner(of) {}
    static void taken(borrower& self) noexcept;
    right_reader& owner;
  };

  bool try_post() noexcept;
  void post(std::span<const registered_piece> into) noexcept;
  static void completed(remote_read& read, void* self, const status& outcome) noexcept;
  void round_over() noexcept;
  void finish(const status& outcome) noexcept;

  right_readers& owner_;
  read_waiter* waiter_ = nullptr;
  const session* peer_ = nullptr;
  memory_right right_;
  place place_{*this};
  std::uint64_t offset_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t done_ = 0;
  std::uint32_t round_ = 0;  // bytes of the present round
  bool through_slab_ = false;
  remote_access* at_ = nullptr;
  slab_pool* pool_ = nullptr;
  slab* slab_ = nullptr;
  registered_span* span_ = nullptr;
  std::array<remote_read, 2 * most_extents - 1> reads_;
  std::size_t left_ = 0;
  status failure_;
};

/// The readings of an endpoint. Slabs are held only while hardware reads, so those who wait for one get it.
class right_readers final {
 public:
  using freed_function = void (*)(void* object) noexcept;
  right_readers(const registrations& registered, endpoint_statistics& count, freed_function freed,
                void* object) noexcept
      : registered_(registered), count_(count), freed_(freed), object_(object) {}
  ~right_readers() { end_all(); }
  right_readers(const right_readers&) = delete;
  right_readers& operator=(const right_readers&) = delete;

  /// True if a right belongs to the present link to its peer.
  static bool is_current(const session& peer, const memory_right& right) noexcept;

  /// Begins to read by a right, which is as long as `into`. With `through_slab` hardware does not touch the
  /// memory itself.
  right_reader& begin(read_waiter& waiter, const session& peer, const memory_right& right,
                      const lent_range& into, bool through_slab = false) noexcept;
  /// Takes back a reading that is not posted. Its waiter is not called.
  void take_back(right_reader& reader) noexcept;
  /// Continues, because there are slabs again.
  void resume() noexcept;
  /// Cuts the links of all reads into a memory.
  void cut(const lent_memory& memory) noexcept;
  /// Ends all readings now. Their waiters are told.
  void end_all() noexcept;
  std::size_t running() const noexcept { return running_; }

 private:
  friend class right_reader;
  static constexpr std::size_t step = 16;

  right_reader& acquire();
  void release(right_reader& reader) noexcept;

  const registrations& registered_;
  endpoint_statistics& count_;
  freed_function freed_;
  void* object_;
  std::vector<std::unique_ptr<right_reader>> all_;
  intrusive_list<right_reader> free_;
  intrusive_list<right_reader> waiting_;  // for a slab
  intrusive_list<right_reader> posted_;
  std::size_t running_ = 0;
};

}  // namespace scoll::transport
