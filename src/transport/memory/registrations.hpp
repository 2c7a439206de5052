#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "scoll/coro/completion.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class rail;
class registrations;

/// One span of registered memory, with its keys at every rail.
class registered_span final {
 public:
  registered_span(rail& of, std::span<std::byte> memory) noexcept;
  ~registered_span();
  registered_span(const registered_span&) = delete;
  registered_span& operator=(const registered_span&) = delete;

  std::span<std::byte> memory() const noexcept { return memory_; }
  std::size_t rails() const noexcept { return rails_.size(); }
  /// Its keys at a rail; null if it has none there.
  const registration* at(const memory_registrar& rail) const noexcept;

  // Each of these ends with `settled`.
  void add(memory_access access) noexcept;
  /// True if peers may be given a right to read the memory.
  bool grants_reads() const noexcept { return access_ != memory_access::write; }
  void remove() noexcept;
  completion<status>& settled() noexcept { return *settled_; }
  /// Deletes this object when it has been removed; nobody waits for that.
  void remove_alone() noexcept;

  /// A right or a read begins or ends to use the memory. A removal waits for the last one.
  void begin_use() noexcept { ++uses_; }
  void end_use() noexcept;

 private:
  friend class registrations;
  struct place final : registration {
    place(registered_span& of, memory_registrar& rail) noexcept : owner(of), registrar(rail) {}
    void on_added(const status& outcome) noexcept override {
      valid = outcome.has_value();
      owner.heard(outcome);
    }
    void on_removed() noexcept override { owner.heard({}); }
    registered_span& owner;
    memory_registrar& registrar;
    bool valid = false;
  };

  void heard(const status& outcome) noexcept;
  void drop_places() noexcept;
  void over() noexcept;

  std::span<std::byte> memory_;
  registrations* table_ = nullptr;
  std::deque<place> rails_;
  std::size_t awaited_ = 0;
  std::uint32_t uses_ = 0;
  memory_access access_ = memory_access::read_write;
  bool removing_ = false;
  bool alone_ = false;
  status outcome_;
  std::optional<completion<status>> settled_;
};

/// A range of memory, or its beginning, as the hardware of one rail reaches it.
struct registered_range {
  std::array<registered_piece, most_extents> pieces;
  std::size_t count = 0;
  std::uint32_t size = 0;  // bytes, over all pieces
  registered_span* span = nullptr;

  std::span<const registered_piece> view() const noexcept { return {pieces.data(), count}; }
};

/// The registered memory of an endpoint, by address.
class registrations final {
 public:
  registrations() = default;
  ~registrations();
  registrations(const registrations&) = delete;
  registrations& operator=(const registrations&) = delete;

  /// True if no part of the memory is registered.
  bool is_free(std::span<const std::byte> memory) const noexcept;
  void enter(registered_span& span);
  void leave(registered_span& span) noexcept;

  /// The part at the beginning of a range that lies in one registered span and in no more than `most_extents`
  /// pieces. Its size is 0 if there is none.
  registered_range find(const memory_registrar& rail, const lent_range& range) const noexcept;

 private:
  registered_span* holder(const std::byte* at) const noexcept;

  std::map<const std::byte*, registered_span*> spans_;  // by their first byte
};

}  // namespace scoll::transport
