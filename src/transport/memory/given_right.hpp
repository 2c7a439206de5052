#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/registrations.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll {
class executor;
}

namespace scoll::transport {

class right_giver;
class session;
struct endpoint_statistics;

/// The object for which a right was given, and which tells the peer of it.
class right_holder {
 public:
  /// The right may be told. Not called if it ends before that.
  virtual void on_right(const memory_right& what) noexcept = 0;
  /// The peer should be told to use the right no longer.
  virtual void on_recall() noexcept {}
  /// Nothing reads by the right any more. The holder has none from here on.
  virtual void on_right_ended() noexcept = 0;

 protected:
  ~right_holder() = default;
};

/// How a right is given.
struct right_terms {
  bool checked = false;                  ///< with the XXH3 of the bytes
  bool copied = false;                   ///< to a copy, even if the memory is registered
  std::optional<std::uint64_t> known{};  ///< the XXH3, if it is known
};

/// A right of a peer to read a range of this node's memory, or a copy of it in a slab.
class given_right final : public read_grant, public list_hook<> {
 public:
  explicit given_right(right_giver& giver) noexcept : giver_(giver) {}

  /// The bytes that it is for, from the beginning of the range.
  std::uint32_t size() const noexcept { return size_; }
  /// True if the memory itself is read, not a copy.
  bool direct() const noexcept { return span_ != nullptr; }
  bool recalled() const noexcept { return recalled_; }
  remote_access& access() const noexcept { return *at_; }

 private:
  friend class right_giver;
  struct hold final : borrower {
    explicit hold(given_right& of) noexcept : borrower(&taken), owner(of) {}
    static void taken(borrower& self) noexcept;
    given_right& owner;
  };

  void on_granted(std::span<const remote_extent> extents) noexcept override;
  void on_ended() noexcept override;

  right_giver& giver_;
  right_holder* holder_ = nullptr;
  const session* peer_ = nullptr;
  remote_access* at_ = nullptr;
  slab_pool* pool_ = nullptr;
  slab* copy_ = nullptr;
  registered_span* span_ = nullptr;
  hold pin_{*this};
  std::uint32_t size_ = 0;
  bool checked_ = false;
  bool recalled_ = false;
  bool ending_ = false;
  std::uint64_t checksum_ = 0;
  time_point given_at_{};
};

/// Gives rights to peers. It copies what is not registered to slabs, of which one peer may hold half. A right
/// that is out for long while others wait for its slab is recalled, and then its link is cut.
class right_giver final {
 public:
  /// `freed` is called when a right has ended, from inside the transport.
  using freed_function = void (*)(void* object) noexcept;
  right_giver(executor& ex, const registrations& registered, endpoint_statistics& count, freed_function freed,
              void* object) noexcept
      : executor_(ex), registered_(registered), count_(count), freed_(freed), object_(object) {}
  ~right_giver();
  right_giver(const right_giver&) = delete;
  right_giver& operator=(const right_giver&) = delete;

  /// Gives a right to a range, or to its beginning. Null if there is no slab for it at present.
  given_right* give(right_holder& holder, const session& peer, remote_access& at, const lent_range& range,
                    const right_terms& terms) noexcept;
  /// Ends a right that the peer has released, or was not told of. Its holder is told when it has ended.
  void end(given_right& right) noexcept;
  /// Likewise, and the holder is not told. What is not `direct` may be left alone like this.
  void release(given_right& right) noexcept {
    right.holder_ = nullptr;
    end(right);
  }
  /// Recalls all rights to a memory.
  void recall(const lent_memory& memory) noexcept;
  /// Cuts the links of all rights to a memory.
  void cut(const lent_memory& memory) noexcept;
  /// Ends all rights now. Their holders are told.
  void end_all() noexcept;
  std::size_t out() const noexcept { return out_count_; }

 private:
  friend class given_right;
  static constexpr std::size_t step = 16;

  slab* take_slab(slab_pool& pool, const session& peer) noexcept;
  given_right& acquire();
  void recall(given_right& right) noexcept;
  void press() noexcept;

  executor& executor_;
  const registrations& registered_;
  endpoint_statistics& count_;
  freed_function freed_;
  void* object_;
  std::vector<std::unique_ptr<given_right>> all_;
  intrusive_list<given_right> free_;
  intrusive_list<given_right> staged_;
  intrusive_list<given_right> direct_;
  std::size_t out_count_ = 0;
  bool starved_ = false;
  member_timer<&right_giver::press> press_timer_{*this};
};

}  // namespace scoll::transport
