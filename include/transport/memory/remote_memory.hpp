#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/region_descriptor.hpp"

/// The contract between the layers above and rails whose hardware reads the memory of peers by itself. Nothing
/// here knows any hardware. A node never writes to the memory of another: it only reads, and only while it has
/// a right (docs/transport.md).
namespace scoll::transport {

/// Contiguous memory of a peer, as the peer's hardware knows it.
struct remote_extent {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;  // bytes
};

class memory_registrar;
class registration;

/// A part of memory that has been entered with a rail.
struct registered_piece {
  std::span<std::byte> bytes;
  const registration* in = nullptr;
};

/// Memory entered with one rail. It is entered and removed by a `memory_registrar`, which tells by `changed`
/// when that is done, in a later step.
class registration {
 public:
  using function = void (*)(registration&, const status& outcome) noexcept;

  explicit registration(function changed = nullptr) noexcept : changed_(changed) {}
  registration(const registration&) = delete;
  registration& operator=(const registration&) = delete;

  std::span<std::byte> memory() const noexcept { return memory_; }
  std::uint32_t key() const noexcept { return key_; }

  // For registrars:
  void entered(std::span<std::byte> memory, std::uint32_t key) noexcept {
    memory_ = memory;
    key_ = key;
  }
  void tell(const status& outcome) noexcept {
    if (changed_ != nullptr) changed_(*this, outcome);
  }

 private:
  function changed_;
  std::span<std::byte> memory_;
  std::uint32_t key_ = 0;
};

/// One READ. After `remote_access::read` it completes exactly once, whatever becomes of the link, and never
/// from inside that call: `completed` says that the hardware no longer touches the local memory.
class remote_read : public list_hook<remote_read> {
 public:
  using function = void (*)(remote_read&, const status& outcome) noexcept;

  explicit remote_read(function completed) noexcept : completed_(completed) {}
  ~remote_read() { SCOLL_ASSERT(!under_way_, "a READ was abandoned by its owner"); }

  remote_extent from;
  registered_piece into;  ///< as long as `from`

  bool under_way() const noexcept { return under_way_; }

  // For links:
  void begun() noexcept { under_way_ = true; }
  void complete(const status& outcome) noexcept {
    under_way_ = false;
    completed_(*this, outcome);
  }
  void taken_back() noexcept { under_way_ = false; }

 private:
  function completed_;
  bool under_way_ = false;
};

/// A right that a peer has to memory of this node. After `remote_access::grant` it is told `granted` or not
/// (the link may break first), and then `ended` once, never from inside a call of the link.
class read_grant : public list_hook<read_grant> {
 public:
  static constexpr std::size_t most_extents = 4;
  using granted_function = void (*)(read_grant&, std::span<const remote_extent> extents) noexcept;
  using ended_function = void (*)(read_grant&) noexcept;

  read_grant(granted_function granted, ended_function ended) noexcept : granted_(granted), ended_(ended) {}
  ~read_grant() { SCOLL_ASSERT(!out_, "a right was abandoned by its owner"); }

  /// True from `grant` until `ended`: the peer may read the memory.
  bool out() const noexcept { return out_; }

  // For links:
  void begun() noexcept { out_ = true; }
  void tell_granted(std::span<const remote_extent> extents) noexcept { granted_(*this, extents); }
  void tell_ended() noexcept {
    out_ = false;
    ended_(*this);
  }

 private:
  granted_function granted_;
  ended_function ended_;
  bool out_ = false;
};

/// What a link offers whose hardware reads the peer's memory.
class remote_access {
 public:
  /// The number by which both ends name this link. A right belongs to the link that it names.
  virtual std::uint32_t link_id() const noexcept = 0;
  /// Where the memory is entered that is read into over this link, and from.
  virtual memory_registrar& registrar() noexcept = 0;
  /// Begins a READ, or queues it behind those that the hardware has.
  virtual void read(remote_read& r) noexcept = 0;
  /// Takes back a READ that has not begun; it does not complete then. False if the hardware has it.
  virtual bool take_back(remote_read& r) noexcept = 0;
  /// Lets the peer read up to `read_grant::most_extents` pieces.
  virtual void grant(read_grant& g, std::span<const registered_piece> pieces) noexcept = 0;
  /// The peer has released the right.
  virtual void end(read_grant& g) noexcept = 0;
  /// Breaks the link. Its READs complete and its rights end soon.
  virtual void cut() noexcept = 0;
  /// Breaks the link. Its READs complete and its rights end before this returns, which may take milliseconds.
  virtual void cut_now() noexcept = 0;

 protected:
  ~remote_access() = default;
};

/// A buffer that has been entered with a rail once and for all.
struct slab {
  registered_piece memory;
  slab* next = nullptr;  // free list
};

/// Slabs of one size, through which plain memory is read.
class slab_pool {
 public:
  slab_pool() = default;
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;

  // For registrars: adds the memory of one slab.
  void add(const registered_piece& memory) {
    slabs_.push_back(std::make_unique<slab>());
    slabs_.back()->memory = memory;
    slabs_.back()->next = std::exchange(free_, slabs_.back().get());
  }

  /// Null if all are lent.
  slab* try_acquire() noexcept {
    if (free_ == nullptr) {
      starved_ = true;
      return nullptr;
    }
    ++lent_;
    return std::exchange(free_, free_->next);
  }
  void release(slab& s) noexcept {
    --lent_;
    s.next = std::exchange(free_, &s);
    if (!std::exchange(starved_, false) || refill_ == nullptr) return;
    refill_(refill_object_);
  }
  std::size_t size() const noexcept { return slabs_.size(); }
  std::size_t lent() const noexcept { return lent_; }
  std::size_t slab_bytes() const noexcept { return slabs_.empty() ? 0 : slabs_[0]->memory.bytes.size(); }

  /// Sets a function that is called at the first return of a slab after one was missing. It should only
  /// schedule work.
  void on_refill(void (*refill)(void*) noexcept, void* object) noexcept {
    refill_ = refill;
    refill_object_ = object;
  }

 private:
  std::vector<std::unique_ptr<slab>> slabs_;
  slab* free_ = nullptr;
  std::size_t lent_ = 0;
  bool starved_ = false;
  void (*refill_)(void*) noexcept = nullptr;
  void* refill_object_ = nullptr;
};

/// What a rail offers whose hardware must know memory before it reads it.
class memory_registrar {
 public:
  /// Enters memory. The registration is told when that is done, or has failed.
  virtual void add(registration& r, std::span<std::byte> memory) noexcept = 0;
  /// Removes it; told likewise. No right to the memory is out, and no READ into it is under way.
  virtual void remove(registration& r) noexcept = 0;
  /// Slabs from which peers read.
  virtual slab_pool& outgoing() noexcept = 0;
  /// Slabs into which this node reads. A right holds an outgoing slab until its peer has found an incoming
  /// one, so the two are apart; incoming slabs wait for hardware alone.
  virtual slab_pool& incoming() noexcept = 0;

 protected:
  ~memory_registrar() = default;
};

}  // namespace scoll::transport
