#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"

/// What a transport offers whose hardware reads the memory of peers (docs/transport.md, "Remote access"). All
/// calls are made on the executor of the rail, and all answers come in a later step.
namespace scoll::transport {

class memory_registrar;

/// The operations that peers may perform on memory.
enum class memory_access : std::uint8_t { read = 1, write = 2, read_write = 3 };

/// A contiguous range of a peer's memory, and the key with which it is read.
struct remote_extent {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;

  friend constexpr bool operator==(const remote_extent&, const remote_extent&) = default;
};

/// The most ranges of one right.
inline constexpr std::size_t most_extents = 4;

/// A contiguous range of this node's memory that the hardware of one rail reaches, with its keys there, and
/// where peers read it.
struct registered_piece {
  std::span<std::byte> bytes;
  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_address = 0;
};

/// Copies a range of a peer's memory into local memory of the same size. It completes once, whatever the link
/// does, and not before the hardware has let go of the local memory: an error state of the link is no such
/// moment, it only brings it about. One that is destroyed after `cut_now` is not heard of.
class remote_read : public list_hook<remote_read> {
 public:
  using function = void (*)(remote_read&, void* object, const status& outcome) noexcept;

  void on_complete(function completed, void* object) noexcept {
    completed_ = completed;
    object_ = object;
  }
  void complete(const status& outcome) noexcept { completed_(*this, object_, outcome); }

  remote_extent from;
  registered_piece into;

 private:
  function completed_ = nullptr;
  void* object_ = nullptr;
};

/// A right of the peer of a link to read memory of this node. One that is destroyed after `cut_now` is not
/// heard of.
class read_grant : public list_hook<read_grant> {
 public:
  /// The right is in force: the peer may be told of it. Not called if the right ends before that.
  virtual void on_granted(std::span<const remote_extent> extents) noexcept = 0;
  /// No access by it is possible any more. Called once, after `end` or when the link has ended.
  virtual void on_ended() noexcept = 0;

 protected:
  ~read_grant() = default;
};

/// The reading of memory over one link (`link::remote`). It stays valid until the link has ended and all its
/// reads and grants have completed, which they do by themselves soon after the end of the link.
class remote_access {
 public:
  /// The link's name, the same at both ends, and no other link of the two nodes has had it lately.
  virtual std::uint32_t id() const noexcept = 0;
  /// The registrar of its rail.
  virtual memory_registrar& registrar() noexcept = 0;

  /// Posts a read, or queues it behind the depth of the hardware; reads are served in order.
  virtual void read(remote_read& what) noexcept = 0;
  /// Grants a right to 1 to `most_extents` pieces, each of which becomes one extent.
  virtual void grant(read_grant& right, std::span<const registered_piece> pieces) noexcept = 0;
  /// Ends a right that the peer has released, or has not been told of.
  virtual void end(read_grant& right) noexcept = 0;
  /// Breaks the link, if it has not ended yet. Its reads and grants complete soon.
  virtual void cut() noexcept = 0;
  /// Likewise. When it returns, nothing of this link touches memory of this node any more; it may block for
  /// milliseconds. Reads and grants complete later, as after `cut`.
  virtual void cut_now() noexcept = 0;

 protected:
  ~remote_access() = default;
};

/// Memory that one rail has been given. It is part of the object that waits.
class registration : public list_hook<registration> {
 public:
  /// The keys are valid, or the error says why there are none.
  virtual void on_added(const status& outcome) noexcept = 0;
  /// The rail has let go of the memory.
  virtual void on_removed() noexcept = 0;

  std::uint32_t local_key = 0;
  std::uint32_t remote_key = 0;
  std::uint64_t remote_address = 0;  ///< where peers read the first byte

 protected:
  ~registration() = default;
};

/// A piece of registered memory of a rail, through which other memory is copied.
struct slab : list_hook<> {
  registered_piece memory;
};

/// The slabs of a rail for one direction. Their number and size are the rail's.
class slab_pool {
 public:
  slab_pool() = default;
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;

  /// Adds a slab, which must outlive the pool. All have one size.
  void add(slab& more) noexcept {
    slab_bytes_ = more.memory.bytes.size();
    ++size_;
    free_.push_back(more);
  }
  /// Null if all are in use.
  slab* try_acquire() noexcept {
    if (free_.empty()) return nullptr;
    ++in_use_;
    return &free_.pop_front();
  }
  void release(slab& s) noexcept {
    --in_use_;
    free_.push_front(s);
  }
  std::size_t size() const noexcept { return size_; }
  std::size_t slab_bytes() const noexcept { return slab_bytes_; }
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  intrusive_list<slab> free_;
  std::size_t slab_bytes_ = 0;
  std::size_t size_ = 0;
  std::size_t in_use_ = 0;
};

/// The registered memory of one rail (`rail::registrar`). Its pools are apart, because a right holds a slab
/// of its owner until the reader has found one: nodes that read from each other would wait in a circle.
class memory_registrar {
 public:
  /// Registers memory, which must stay valid until it has been removed.
  virtual void add(registration& what, std::span<std::byte> memory, memory_access access) noexcept = 0;
  /// Ends a registration that no read or right uses. It has been added.
  virtual void remove(registration& what) noexcept = 0;
  /// Copies of memory that peers read.
  virtual slab_pool& outgoing() noexcept = 0;
  /// Places for what is read from peers.
  virtual slab_pool& incoming() noexcept = 0;

 protected:
  ~memory_registrar() = default;
};

}  // namespace scoll::transport
