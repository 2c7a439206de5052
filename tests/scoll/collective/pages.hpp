#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster.hpp"
#include "scoll/collective/gather.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/catch.hpp"

namespace scoll::test {

struct page {
  std::uint32_t number = 0;
  std::string text;
  friend bool operator==(const page&, const page&) = default;
};

/// A record of what the members of a group of `pages` have put, and their orders, by rank.
struct pages_log {
  std::map<std::uint32_t, int> executed, replied;
  std::map<std::uint32_t, std::uint32_t> put;    ///< items that were taken
  std::map<std::uint32_t, error> refused;        ///< the first error of a `put`
  std::map<std::uint32_t, std::uint32_t> items;  ///< instead of those of the request
  std::map<std::uint32_t, nanoseconds> pause;    ///< before each item
  std::map<std::uint32_t, error> failing;        ///< at the end, instead of success
  std::uint32_t all() const {
    std::uint32_t sum = 0;
    for (const auto& [rank, count] : put) sum += count;
    return sum;
  }
};

/// Every member puts pages with the numbers from 0 on.
struct pages {
  static constexpr service_id id{0x0203};
  static constexpr std::string_view name = "pages";
  static constexpr nanoseconds processing_bound = std::chrono::seconds(10);
  struct request {
    std::uint32_t items = 1;
    std::uint32_t bytes = 8;
  };
  using reply = parts<page>;
  std::shared_ptr<pages_log> log = std::make_shared<pages_log>();

  task<status> execute(const request& r, bcast_context& c, part_sink<page>& out) {
    const std::uint32_t rank = c.rank();
    ++log->executed[rank];
    const auto own = log->items.find(rank);
    const std::uint32_t count = own != log->items.end() ? own->second : r.items;
    const auto pause = log->pause.find(rank);
    for (std::uint32_t i = 0; i < count; ++i) {
      if (pause != log->pause.end()) {
        const status slept = co_await sleep_for(pause->second, c.stop());
        if (!slept) co_return slept.error();
      }
      const page next{i, std::string(r.bytes, static_cast<char>('a' + rank % 26))};
      const status taken = co_await out.put(next);
      if (!taken) {
        log->refused.emplace(rank, taken.error());
        co_return taken.error();
      }
      ++log->put[rank];
    }
    if (log->failing.contains(rank)) co_return log->failing[rank];
    co_return status();
  }
  void replied(bcast_context& c) noexcept { ++log->replied[c.rank()]; }
};

/// A gather that is read while the test continues.
class reading {
 public:
  using item = parts<page>::item;

  reading(cluster& c, const group<pages>& g, const pages::request& request, bcast_options options = {},
          nanoseconds pause = {}, bool halted = false)
      : cluster_(c),
        scope_(c.get_executor()),
        going_(!halted),
        pause_(pause),
        from_(gather(g, request, options)) {
    scope_.spawn(read());
    c.run_ready();
  }
  ~reading() { land(); }
  reading(const reading&) = delete;
  reading& operator=(const reading&) = delete;

  bool done() const { return ended_; }
  /// Takes no item from now on, until `go_on`.
  void halt() { going_.reset(); }
  void go_on() { going_.set(); }
  /// Reads to the end.
  reading& land() {
    go_on();
    if (!joined_) cluster_.run(join());
    joined_ = true;
    return *this;
  }
  const scoll::status& how() const { return from_->status(); }
  const outcome& account() const { return from_->outcome(); }
  const std::map<std::uint32_t, std::vector<page>>& got() const { return got_; }
  std::uint32_t count() const { return count_; }

  /// Lets go of the gather. The reader must have been halted, or have ended.
  void abandon() {
    abandoned_ = true;
    from_.reset();
  }

 private:
  task<void> read() {
    while (true) {
      co_await going_.wait();
      if (abandoned_) break;
      auto next = co_await from_->next();
      if (!next) break;
      got_[next->rank].push_back(std::move(next->value));
      ++count_;
      if (pause_.count() != 0) co_await sleep_for(pause_);
    }
    ended_ = true;
  }
  task<void> join() { co_await scope_.join(); }

  cluster& cluster_;
  scope scope_;
  event going_;
  nanoseconds pause_;
  std::optional<gathering<pages>> from_;
  std::map<std::uint32_t, std::vector<page>> got_;
  std::uint32_t count_ = 0;
  bool ended_ = false;
  bool abandoned_ = false;
  bool joined_ = false;
};

/// Checks what holds whatever happened: the items of each member came in order, once, and if it is merged, all
/// of them came.
inline void check_items(const outcome& o, const std::map<std::uint32_t, std::vector<page>>& got,
                        const pages_log& log, std::uint32_t n) {
  INFO(describe(o));
  REQUIRE(o.members() == n);
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    INFO("rank " << rank);
    const auto found = got.find(rank);
    const std::size_t came = found == got.end() ? 0 : found->second.size();
    for (std::size_t i = 0; i < came; ++i) REQUIRE(found->second[i].number == i);
    const auto put = log.put.find(rank);
    const std::size_t all = put == log.put.end() ? 0 : put->second;
    REQUIRE(came <= all);
    const member_state state = o.state(rank);
    if (state == member_state::merged) {
      REQUIRE(came == all);
      REQUIRE(log.executed.at(rank) == 1);
    } else {
      REQUIRE(o.why(rank).what.code() != errc::ok);
    }
    if (state == member_state::not_reached) REQUIRE_FALSE(log.executed.contains(rank));
  }
  for (const auto& [rank, items] : got) REQUIRE(rank < n);
}

}  // namespace scoll::test
