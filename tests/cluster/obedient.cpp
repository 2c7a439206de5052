#include "obedient.hpp"

#include <dirent.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "kills/storm.hpp"
#include "process_cluster.hpp"
#include "scoll/bulk.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/ship.hpp"
#include "tools/common/await_address.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll::test {
namespace {

using namespace std::chrono_literals;

std::uint32_t open_files() {
  std::uint32_t count = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

void tell(int socket, const report& r) {
  if (::send(socket, &r, sizeof r, MSG_NOSIGNAL) != sizeof r) _exit(3);
}

// Functions of every process.
constexpr remote_function<std::uint64_t, std::uint64_t> echo{"processes.echo"};
constexpr remote_function<nothing, region_descriptor> memory{"processes.memory"};

/// The service of every process.
struct worker {
  static constexpr service_id id{0x0300};
  static constexpr std::string_view name = "worker";
  struct request {
    std::uint8_t action = 0;
    std::uint32_t victim = 0;
    std::uint32_t milliseconds = 0;
    std::vector<std::byte> padding;
  };
  struct reply {
    sum<std::uint32_t> members;
    std::vector<std::byte> bulk;
  };
  int socket;
  event* never;

  static void merge(reply& into, const reply& from) noexcept { into.members.merge(from.members); }

  task<result<reply>> execute(const request& r, bcast_context& c) {
    reply answer{{1}, {}};
    const auto action = static_cast<deed>(r.action);
    if (action == deed::dwell) {
      report executing;
      executing.what = report::kind::executing;
      tell(socket, executing);
      co_await sleep_for(std::chrono::milliseconds(r.milliseconds));
    }
    if (c.rank() != r.victim) co_return answer;
    if (action == deed::hang) co_await never->wait();
    if (action == deed::spin_on_pool) {
      const auto spin = [] {
        static std::atomic<std::uint64_t> turns{0};
        while (true) turns.fetch_add(1, std::memory_order_relaxed);
      };
      (co_await c.pool().run("spin", spin)).ignore();
    }
    if (action == deed::throw_up) throw std::runtime_error("this member throws on request");
    if (action == deed::long_reply) answer.bulk.resize(30000);
    co_return answer;
  }
};

/// The program of one process: it carries out orders until it is told to quit.
class obedient {
 public:
  explicit obedient(const process_place& place) : socket_(place.socket), board_(*place.board) {
    ring_ = transport::reactor::create().value();
    before_ = open_files();
    rail_ = std::make_unique<transport::tcp_rail>(*ring_);
    node_options options;
    options.id = place.id;
    options.cluster = "processes";
    options.group_lease = 2s;
    options.max_operations = 64;  // pools reach their size soon
    if (place.patience > 0ns) {
      options.link.reconnect_grace = place.patience;
      options.link.backoff_limit = place.patience / 8;  // several attempts within it
    }
    node_ = std::make_unique<node>(*ring_, *rail_, options);
    const auto address = transport::socket_address::parse(place.address).value();
    kit::await_address([&] { return transport::open_listener(address); });
    node_->listen(place.address).value();
    node_->serve(worker{socket_, &never_}).value();
    node_->serve(echo, [](const std::uint64_t& number, call_context&) { return number; }).value();
    region_ = expose(*node_, shown_).value();
    node_->serve(memory, [this](const nothing&, call_context&) { return region_.descriptor(); }).value();
    node_->serve(depot{&place_, [this] { tell_stopped(); }, &lent_}).value();
    node_->serve(tally{&board_}).value();
  }

  int run() {
    report ready;
    std::snprintf(ready.address, sizeof ready.address, "%s", node_->listen_address().c_str());
    tell(socket_, ready);
    sync_wait(*ring_, obey());
    return 0;
  }

 private:
  task<void> obey() {
    std::array<char[64], most_processes> addresses;
    co_await read_all(&addresses, sizeof addresses);
    for (std::size_t i = 0; i < most_processes; ++i) {
      if (addresses[i][0] != '\0' && i + 1 != node_->id()) node_->add_peer(i + 1, addresses[i]).value();
    }
    while (true) {
      order o;
      co_await read_all(&o, sizeof o);
      if (o.what == order::kind::quit) break;
      switch (o.what) {
        case order::kind::spread: co_await spread(o); break;
        case order::kind::make_groups: co_await make_groups(o); break;
        case order::kind::end_groups: co_await end_groups(); break;
        case order::kind::count: count(); break;
        case order::kind::await_places: co_await await_places(); break;
        case order::kind::storm: co_await rage(o); break;
        case order::kind::call: co_await call(o); break;
        case order::kind::pull: co_await pull_from(o); break;
        default: co_await broadcast(o);
      }
    }
    report left;
    left.what = report::kind::left;
    const status down =
        co_await node_->shutdown(8s);  // a place is kept for a dead reader until its time is over
    left.ok = down.has_value();
    left.hooks_named = down ? 0 : 1;
    std::snprintf(left.text, sizeof left.text, "%s", std::string(down.error().text()).c_str());
    never_.set();
    region_.unexpose();
    node_.reset();
    while (rail_->open() != 0) co_await sleep_for(1ms);
    left.files_left_open = open_files() - before_;
    tell(socket_, left);
  }

  task<void> read_all(void* into, std::size_t size) {
    auto space = std::span(static_cast<std::byte*>(into), size);
    while (!space.empty()) {
      const auto got = co_await transport::async_receive(*ring_, socket_, space);
      if (!got || *got == 0) _exit(4);  // the test is gone
      space = space.subspan(*got);
    }
  }

  static std::vector<target> targets_of(const order& o) {
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < o.members; ++i) targets.push_back({o.member_ids[i], {}});
    return targets;
  }

  task<void> make_groups(const order& o) {
    const std::vector<target> targets = targets_of(o);
    group_options options{.tree = o.tree};
    if (o.lasting) options.lifetime = lifetime::members;
    report answer;
    answer.what = report::kind::result;
    answer.ok = true;
    for (std::uint32_t i = 0; i < o.groups && answer.ok; ++i) {
      auto made = co_await node_->create_group<worker>(targets, options);
      answer.ok = made.has_value();
      if (made) brief_.push_back(*made);
    }
    tell(socket_, answer);
  }

  task<void> end_one(group<worker> g, std::uint32_t& ended) {
    ended += (co_await node_->destroy(g)).has_value();
  }

  task<void> end_groups() {
    report answer;
    answer.what = report::kind::result;
    answer.groups = static_cast<std::uint32_t>(brief_.size());
    scope endings;
    for (const group<worker>& g : brief_) endings.spawn(end_one(g, answer.value));
    co_await endings.join();
    brief_ = {};
    tell(socket_, answer);
  }

  void count() {
    const node_snapshot now = node_->snapshot();
    const struct mallinfo2 heap = mallinfo2();
    report answer;
    answer.what = report::kind::result;
    answer.groups = static_cast<std::uint32_t>(now.groups);
    answer.groups_ending = static_cast<std::uint32_t>(now.groups_ending);
    answer.heap_bytes = heap.uordblks + heap.hblkhd;
    tell(socket_, answer);
  }

  task<void> await_places() {
    while (lent_.now != 0) {
      lent_.back.reset();
      co_await lent_.back.wait();
    }
    report answer;
    answer.what = report::kind::result;
    answer.value = lent_.ever;
    tell(socket_, answer);
  }

  void tell_status(const status& s) const {
    report answer;
    answer.what = report::kind::result;
    answer.ok = s.has_value();
    answer.code = s.error().code();
    std::snprintf(answer.text, sizeof answer.text, "%s", std::string(s.error().text()).c_str());
    tell(socket_, answer);
  }

  task<void> call(const order& o) {
    const std::uint64_t number = 7;
    const auto r = co_await ship(*node_, o.victim + 1, echo, number);
    tell_status(r ? status() : status(r.error()));
  }

  /// The first time it asks for the descriptor.
  task<void> pull_from(const order& o) {
    if (theirs_.node != o.victim + 1) {
      const auto r = co_await ship(*node_, o.victim + 1, memory);
      if (!r) co_return tell_status(r.error());
      theirs_ = *r;
    }
    std::array<std::byte, shown_bytes> into;
    tell_status(co_await pull(*node_, theirs_, 0, into));
  }

  void tell_stopped() const {
    report stopping;
    stopping.what = report::kind::stopping;
    tell(socket_, stopping);
  }

  /// Returns the group of these members with this tree, and creates it the first time; or tells the error.
  template <class S>
  task<std::optional<group<S>>> group_for(const order& o, std::map<std::string, group<S>>& known) {
    const std::string key = to_string(o.tree) + std::to_string(o.members);
    if (const auto found = known.find(key); found != known.end()) co_return found->second;
    auto made = co_await node_->create_group<S>(targets_of(o), {.tree = o.tree});
    if (made) co_return known.emplace(key, *made).first->second;
    report answer;
    answer.what = report::kind::result;
    answer.code = made.error().code();
    std::snprintf(answer.text, sizeof answer.text, "%s", std::string(made.error().text()).c_str());
    tell(socket_, answer);
    co_return std::nullopt;
  }

  /// Tells what became of the members of a broadcast.
  template <class Result>
  void tell_result(const Result& r, std::uint32_t members, std::uint32_t value) {
    report answer;
    answer.what = report::kind::result;
    answer.members = members;
    answer.ok = r.ok();
    answer.has_value = r.has_value();
    answer.value = value;
    answer.code = r.status().error().code();
    for (std::uint32_t i = 0; i < members; ++i) {
      answer.states[i] = r.outcome().state(i);
      answer.phases[i] = r.outcome().why(i).where;
      answer.causes[i] = r.outcome().why(i).what.code();
    }
    std::snprintf(answer.text, sizeof answer.text, "%s", describe(r.outcome()).c_str());
    tell(socket_, answer);
  }

  task<void> broadcast(const order& o) {
    const auto g = co_await group_for(o, groups_);
    if (!g) co_return;
    worker::request request{static_cast<std::uint8_t>(o.action), o.victim, o.milliseconds, {}};
    request.padding.resize(o.request_bytes);
    bcast_options options;
    if (o.deadline_ms != 0) options.deadline = std::chrono::milliseconds(o.deadline_ms);
    auto r = co_await bcast(*g, request, options);
    tell_result(r, o.members, r.has_value() ? r->members.value : 0);
  }

  task<void> spread(const order& o) {
    const auto g = co_await group_for(o, depots_);
    if (!g) co_return;
    place_.resize(o.object_bytes);
    for (std::size_t i = 0; i < place_.size(); ++i) place_[i] = static_cast<std::byte>(i * 7 + (i >> 13U));
    const depot::request request{wire::checksum(place_), static_cast<std::uint8_t>(o.what_happens), o.victim,
                                 o.piece};
    bcast_options options;
    options.bulk = std::span<const std::byte>(place_);
    options.bulk_plan = o.plan;
    options.bulk_piece_bytes = depot::piece_bytes;
    options.bulk_time = 6s;
    auto r = co_await bcast(*g, request, options);
    tell_result(r, o.members, r.has_value() ? r->value : 0);
  }

  /// The accounts are on the board.
  task<void> rage(const order& o) {
    if (storm_) (co_await node_->destroy(*storm_)).ignore();
    storm_.reset();
    // A process that was just started may need longer than the others' patience.
    for (int attempts = 20; !storm_; --attempts) {
      auto made = co_await node_->create_group<tally>(targets_of(o), {.tree = o.tree});
      if (made) {
        storm_ = *made;
        break;
      }
      ++board_.late_groups;
      if (attempts == 0) co_return tell_status(made.error());
    }
    co_await broadcast_until_loss(*node_, *storm_, board_);
    tell_status({});
  }

  int socket_;
  tally_board& board_;
  std::uint32_t before_ = 0;  // open files of a process before its node begins
  std::unique_ptr<transport::reactor> ring_;
  std::unique_ptr<transport::tcp_rail> rail_;
  event never_;
  static constexpr std::size_t shown_bytes = 4096;
  std::array<std::byte, shown_bytes> shown_{};  // to others, by `memory`
  std::unique_ptr<node> node_;
  memory_region region_;
  region_descriptor theirs_;
  std::map<std::string, group<worker>> groups_;
  std::map<std::string, group<depot>> depots_;
  std::optional<group<tally>> storm_;
  std::vector<std::byte> place_;  // for objects
  lent_places lent_;
  std::vector<group<worker>> brief_;  // made and ended in great numbers
};

}  // namespace

int obey(const process_place& place) {
  return obedient(place).run();
}

}  // namespace scoll::test
