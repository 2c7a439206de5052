#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class staged_reads;

/// Reads the memory that a right gives into lent memory, through slabs. Part of an exchange's owner.
class right_reader : public list_hook<right_reader> {
 public:
  /// Called when the right may be released: all is there, or nothing is under way any more.
  using function = void (*)(right_reader&, const status& outcome) noexcept;

  explicit right_reader(function finished) noexcept : finished_(finished) {}
  ~right_reader() { SCOLL_ASSERT(!reading(), "a reader was abandoned by its owner"); }

  bool reading() const noexcept { return by_ != nullptr; }
  const memory_right& right() const noexcept { return right_; }

 private:
  friend class staged_reads;
  friend class right_reads;

  function finished_;
  staged_reads* by_ = nullptr;
  session* from_ = nullptr;
  memory_right right_;
  lent_range into_;
  std::uint32_t posted_ = 0;     // bytes that have been asked for
  std::uint32_t under_way_ = 0;  // READs
  bool abandoned_ = false;
  error failure_;
};

/// The incoming slabs of one rail. READs into a slab complete by themselves, so the memory that a reader
/// fills is free as soon as the reader is abandoned.
class staged_reads final {
 public:
  staged_reads(endpoint& owner, slab_pool& slabs);
  ~staged_reads();
  staged_reads(const staged_reads&) = delete;
  staged_reads& operator=(const staged_reads&) = delete;

  /// Reads all that `right` gives; `into` has that size.
  void begin(right_reader& r, session& from, const memory_right& right, const lent_range& into) noexcept;
  /// Posts nothing more, and touches the memory no more. True if nothing is under way; otherwise `finished`
  /// follows.
  bool abandon(right_reader& r) noexcept;
  /// The endpoint ends: completes all READs.
  void close() noexcept;

 private:
  struct slab_read final : remote_read, list_hook<slab_read> {
    slab_read() noexcept : remote_read(&completed) {}
    static void completed(remote_read& r, const status& outcome) noexcept {
      auto& self = static_cast<slab_read&>(r);
      self.owner->completed(self, outcome);
    }
    staged_reads* owner = nullptr;
    remote_access* link = nullptr;
    slab* memory = nullptr;
    right_reader* reader = nullptr;
    std::uint32_t offset = 0;
  };

  void pump(right_reader& r) noexcept;
  remote_extent next_extent(const right_reader& r) const noexcept;
  void completed(slab_read& read, const status& outcome) noexcept;
  void give_back(slab_read& read) noexcept;
  void finish_if_idle(right_reader& r) noexcept;
  void refilled() noexcept;

  endpoint& endpoint_;
  slab_pool& slabs_;
  std::vector<std::unique_ptr<slab_read>> reads_;
  intrusive_list<slab_read, slab_read> free_;
  intrusive_list<slab_read, slab_read> posted_;
  intrusive_list<right_reader, right_reader> waiting_;
  member_node<&staged_reads::refilled> refill_{*this};
};

/// The READs of an endpoint, over all rails that it has links on.
class right_reads final {
 public:
  explicit right_reads(endpoint& owner) noexcept : endpoint_(owner) {}

  /// Begins to read if `event` is a part that gives a right to exactly `into`, over the present link.
  bool begin(right_reader& r, session& from, const reply_event& event, const lent_range& into);
  static bool abandon(right_reader& r) noexcept;
  void close() noexcept;

 private:
  endpoint& endpoint_;
  std::map<memory_registrar*, std::unique_ptr<staged_reads>> by_registrar_;
};

/// True if `event` is a part that recalls a right.
bool recalls(const reply_event& event) noexcept;

}  // namespace scoll::transport
