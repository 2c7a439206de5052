#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/verbs/fake_datagrams.hpp"
#include "transport/sim/verbs/fake_verbs.hpp"

namespace scoll::testing {

class fake_context;
class fake_pair;

/// What all fake devices of one network share.
class fake_fabric {
 public:
  struct host_state {
    bool port_up = true;
    bool refuses_memory = false;            // for READs
    std::uint32_t sends_until_refusal = 0;  // 0: none is refused
  };
  struct severed {
    bool after_next = false;
    bool now = false;
  };

  explicit fake_fabric(sim_network& network) : network_(network), hosts_(network.hosts()) {}

  sim_world& world() const noexcept { return network_.world_; }
  const sim_path& way(std::uint32_t from, std::uint32_t to) const noexcept { return network_.way(from, to); }
  bool frozen(std::uint32_t host) const noexcept { return network_.is_frozen(host); }
  host_state& host(std::uint32_t number) noexcept { return hosts_[number]; }
  std::uint32_t host_count() const noexcept { return static_cast<std::uint32_t>(hosts_.size()); }

  /// True if packets get through from one host to another now.
  bool passes(std::uint32_t from, std::uint32_t to) const noexcept {
    const auto cut = severed_.find({from, to});
    return hosts_[from].port_up && hosts_[to].port_up && way(from, to).blocked_until <= world().now() &&
           (cut == severed_.end() || !cut->second.now);
  }
  severed& between(std::uint32_t from, std::uint32_t to) { return severed_[{from, to}]; }
  void heal() noexcept { severed_.clear(); }
  /// Call this with every delivery.
  void delivered(std::uint32_t from, std::uint32_t to) {
    ++statistics.sends;
    const auto cut = severed_.find({from, to});
    if (cut == severed_.end() || !cut->second.after_next) return;
    severed_[{from, to}] = {false, true};
    severed_[{to, from}] = {false, true};
  }

  /// True if the device of a host is to refuse the send that is being posted.
  bool refuses_next_send(std::uint32_t host) noexcept {
    std::uint32_t& left = hosts_[host].sends_until_refusal;
    if (left == 0) return false;
    --left;
    return left == 0;
  }

  /// The number of a queue pair. Some come back as soon as their queue pair is destroyed.
  std::uint32_t next_number() {
    if (free_numbers_.empty() || world().random().below(2) == 0) return ++last_number_;
    const std::uint32_t number = free_numbers_.back();
    free_numbers_.pop_back();
    return number;
  }
  std::uint32_t add(fake_pair& pair) {
    const std::uint32_t number = next_number();
    pairs_[number] = &pair;
    return number;
  }
  /// A key is valid on one device only, and none comes back.
  std::uint32_t next_key() noexcept { return ++last_key_; }
  void remove(std::uint32_t number) {
    pairs_.erase(number);
    free_numbers_.push_back(number);
  }
  fake_pair* find(std::uint32_t number) const {
    const auto found = pairs_.find(number);
    return found == pairs_.end() ? nullptr : found->second;
  }
  const std::map<std::uint32_t, fake_pair*>& pairs() const noexcept { return pairs_; }
  intrusive_list<fake_context>& contexts() noexcept { return contexts_; }
  fake_datagrams& datagrams() noexcept { return datagrams_; }

  fake_verbs_statistics statistics;
  nanoseconds control_time{std::chrono::microseconds(20)};
  std::uint32_t mtu = 4096;  // of all ports, in bytes

 private:
  sim_network& network_;
  std::vector<host_state> hosts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, severed> severed_;
  std::map<std::uint32_t, fake_pair*> pairs_;
  std::uint32_t last_number_ = 0;
  std::vector<std::uint32_t> free_numbers_;
  std::uint32_t last_key_ = 0;
  intrusive_list<fake_context> contexts_;
  fake_datagrams datagrams_{*this};
};

}  // namespace scoll::testing
