#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/scope.hpp"
#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"
#include "transport/memory/memory_region.hpp"

namespace scoll::sim {

/// Pulls and pushes between two hosts. After each await the memories of both sides get another use at once, so
/// a late copy of a message would be seen in them.
class rails_transfers {
 public:
  using report = std::function<void(std::string_view property, std::string what)>;

  rails_transfers(testing::sim_world& world, std::vector<std::unique_ptr<rails_host>>& hosts,
                  std::uint64_t seed, report found);

  /// Begins transfers in both directions, if none is under way there: at once or now and then.
  void begin(bool often);
  /// What must hold at any time; no transfer may take longer than `bound`.
  void check(nanoseconds bound);
  bool idle() const noexcept;
  /// Ends what the hosts expose.
  void close();
  std::uint64_t done() const noexcept { return done_; }

 private:
  /// The transfers of one host, with the memory of another one.
  struct direction {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<std::byte> here;
    std::vector<std::byte> there;
    transport::memory_region exposed;
    std::size_t used = 0;        ///< bytes of the latest transfer
    std::uint8_t fill_here = 0;  ///< what they hold while they have another use
    std::uint8_t fill_there = 0;
    bool busy = false;
    nanoseconds began{0};
    std::unique_ptr<scope> work;
  };

  task<void> carry(direction& d, bool push, std::size_t size, std::uint32_t segment);
  void use_otherwise(direction& d, std::size_t size);
  void look_at(const direction& d);

  testing::sim_world& world_;
  std::vector<std::unique_ptr<rails_host>>& hosts_;
  draws random_;
  report found_;
  std::uint64_t done_ = 0;
  std::deque<direction> directions_;
};

}  // namespace scoll::sim
