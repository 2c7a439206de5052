#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/timer.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::testing {

/// The memory that one simulated host has entered for its peers' READs, and its slabs.
class sim_registrar final : public transport::memory_registrar {
 public:
  sim_registrar(sim_executor& home, const sim_remote_options& options);
  ~sim_registrar();

  void add(transport::registration& r, std::span<std::byte> memory) noexcept override;
  void remove(transport::registration& r) noexcept override;
  transport::slab_pool& outgoing() noexcept override { return outgoing_; }
  transport::slab_pool& incoming() noexcept override { return incoming_; }

  /// The bytes that a key gives at an address; empty if it gives none.
  std::span<std::byte> find(const transport::remote_extent& e) const noexcept;
  /// The host has crashed: no key is valid any more.
  void forget_all() noexcept { entered_.clear(); }

 private:
  void enter(transport::registration& r, std::span<std::byte> memory) noexcept;
  void fill(transport::slab_pool& pool, const sim_remote_options& options);
  void tell() noexcept;

  sim_executor& home_;
  std::uint32_t last_key_ = 0;
  std::map<std::uint32_t, std::span<std::byte>> entered_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::unique_ptr<transport::registration>> own_;
  transport::slab_pool outgoing_;
  transport::slab_pool incoming_;
  std::vector<transport::registration*> changed_;
  member_node<&sim_registrar::tell> telling_{*this};
};

/// One end of a simulated link that can be read over. Bytes move piece by piece at later moments, completions
/// are late, and what was posted when the link breaks goes on until its flush, which is later still. It
/// outlives its link until nothing of it touches memory any more.
class sim_remote final : public transport::remote_access {
 public:
  static void join(sim_link& a, sim_link& b);

  std::uint32_t link_id() const noexcept override { return id_; }
  void read(transport::remote_read& r) noexcept override;
  bool take_back(transport::remote_read& r) noexcept override;
  void grant(transport::read_grant& g, std::span<const transport::registered_piece> pieces) noexcept override;
  void end(transport::read_grant& g) noexcept override;
  void cut() noexcept override;
  void cut_now() noexcept override;
  transport::memory_registrar& registrar() noexcept override;

  /// This end belongs to a life that has crashed: nothing moves any more.
  void bury() noexcept;
  /// The link is about to be destroyed.
  void link_gone() noexcept;

 private:
  struct told {
    transport::read_grant* grant;
    std::array<transport::remote_extent, transport::read_grant::most_extents> extents;
    std::size_t count;
  };
  class clock final : public timer_node {
   public:
    explicit clock(sim_remote& owner) noexcept : timer_node(&fire), owner_(owner) {}
    ~clock() = default;

   private:
    static void fire(timer_node& node) noexcept { static_cast<clock&>(node).owner_.tick(); }
    sim_remote& owner_;
  };

  sim_remote(sim_rail& rail, sim_link& link, std::uint32_t id);
  ~sim_remote();

  sim_world& world() const noexcept { return rail_.network_.world_; }
  nanoseconds draw(nanoseconds most) const noexcept;
  void arm(nanoseconds after) noexcept;
  void tick() noexcept;
  void complete_first() noexcept;
  void move_bytes() noexcept;
  void flush() noexcept;
  void tell_grants() noexcept;
  const sim_remote_options& options() const noexcept { return *rail_.network_.remote_; }

  sim_rail& rail_;
  gate_pass open_;
  sim_link* link_;
  sim_remote* other_ = nullptr;  // null: the peer's end does not let anything be read any more
  std::uint32_t id_;
  intrusive_list<transport::remote_read, transport::remote_read> posted_;
  intrusive_list<transport::remote_read, transport::remote_read> queued_;
  std::size_t posted_count_ = 0;
  std::size_t moved_ = 0;  // bytes of the first posted READ
  bool landed_ = false;    // the first posted READ has all its bytes
  intrusive_list<transport::read_grant, transport::read_grant> grants_;
  intrusive_list<transport::read_grant, transport::read_grant> ended_;
  std::vector<told> granted_;
  nanoseconds flush_at_{0};
  bool flushed_ = false;
  clock clock_;
  member_node<&sim_remote::tell_grants> telling_{*this};
};

}  // namespace scoll::testing
