#include <algorithm>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "bench/kit/backend.hpp"
#include "bench/kit/caller.hpp"
#include "cores.hpp"
#include "scoll/blocking.hpp"
#include "scoll/collective.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/ship.hpp"

namespace bench::cores {
namespace {

using namespace scoll;

constexpr remote_function<wire::borrowed_bytes, std::uint64_t> length{"bench.length"};

/// One reactor of a process, with its node. All of it belongs to a thread of its own.
class lane {
 public:
  lane(member& me, const setting& s, std::uint32_t number)
      : me_(me), setting_(s), number_(number), bytes_(s.size), thread_([this] { live(); }) {
    listening_.get_future().get();
  }

  void introduce() {
    run_and_wait(*node_, [this] { return meet_others(); }).value();
  }
  /// Carries out operations `first` to `last - 1` of an order.
  void carry_out(const order& o, std::uint32_t first, std::uint32_t last) {
    run_and_wait(*node_, [&] { return work(o, first, last); }).value();
  }

 private:
  struct sum_of_ranks {
    static constexpr service_id id{0x0100};
    static constexpr bool short_execute = true;
    using request = wire::borrowed_bytes;
    using reply = sum<std::uint64_t>;
    lane* here;
    reply execute(const request&, bcast_context& c) const {
      here->show();
      return {std::uint64_t{c.rank()} + 1};
    }
  };

  node_id id_of(std::uint32_t process) const noexcept { return process * most_reactors + number_ + 1; }

  void live() {
    me_.stay_on_processor(number_);
    ring_ = make_reactor();
    rail_.emplace(*ring_, rail_options(setting_.congestion_control));
    node_options options = node_identity(0);
    options.id = id_of(me_.index());
    node_.emplace(*ring_, *rail_, options);
    node_
        ->serve(length,
                [this](const wire::borrowed_bytes& b, call_context&) {
                  show();
                  return std::uint64_t{b.view.size()};
                })
        .value();
    node_->serve(sum_of_ranks{this}).value();
    node_->listen("127.0.0.1:0").value();
    const std::string address = node_->listen_address();
    me_.page().reactors[number_].port =
        static_cast<std::uint32_t>(std::stoul(address.substr(address.rfind(':') + 1)));
    listening_.set_value();
    ring_->run();
  }

  task<status> meet_others() {
    std::vector<target> all;
    all.reserve(me_.count());
    for (std::uint32_t i = 0; i < me_.count(); ++i) {
      all.push_back({id_of(i), {}});
      if (i == me_.index()) continue;
      const std::uint32_t port = me_.page(i).reactors[number_].port;
      const auto known = node_->add_peer(id_of(i), "127.0.0.1:" + std::to_string(port));
      if (!known) co_return known.error();
    }
    if (me_.index() != 0 || !setting_.broadcasts) co_return status{};
    auto made = co_await node_->create_group<sum_of_ranks>(all);
    if (!made) co_return made.error();
    group_.emplace(*made);
    co_return status{};
  }

  task<status> work(order o, std::uint32_t first, std::uint32_t last) {
    show();
    next_ = first;
    std::vector<task<void>> at_once;
    at_once.reserve(o.in_flight);
    for (std::uint32_t i = 0; i < o.in_flight; ++i) at_once.push_back(in_turn(last));
    co_await when_all(std::move(at_once));
    show();
    co_return status{};
  }

  task<void> in_turn(std::uint32_t last) {
    while (next_ < last) {
      const std::uint32_t i = next_++;
      const std::int64_t began = now_ns();
      if (setting_.broadcasts) {
        co_await broadcast();
      } else {
        co_await call();
      }
      me_.note(i, began, now_ns());
    }
  }

  task<void> call() {
    const auto got = co_await scoll::ship(*node_, id_of(1), length, wire::borrowed_bytes{bytes_});
    if (!got) me_.give_up(describe(got.error()));
  }
  task<void> broadcast() {
    const wire::borrowed_bytes request{bytes_};
    const auto all = co_await scoll::bcast(*group_, request);
    if (!all.ok()) me_.give_up(describe(all.outcome()));
    if (all->value != std::uint64_t{me_.count()} * (me_.count() + 1) / 2) me_.give_up("the sum is wrong");
  }

  /// Adds what has been counted since the last time.
  void show() {
    const counts now = counts::now(*ring_, node_->wire());
    now.add_to(me_.page(), shown_);
    me_.page().reactors[number_].messages = now.messages;
    shown_ = now;
  }

  member& me_;
  setting setting_;
  std::uint32_t number_;
  std::vector<std::byte> bytes_;
  std::unique_ptr<transport::reactor> ring_;
  std::optional<transport::tcp_rail> rail_;
  std::optional<node> node_;
  std::optional<group<sum_of_ranks>> group_;
  std::uint32_t next_ = 0;
  counts shown_;
  std::promise<void> listening_;
  std::thread thread_;
};

void obey(member& me, std::vector<std::unique_ptr<lane>>& lanes) {
  const auto count = static_cast<std::uint32_t>(lanes.size());
  while (const auto next = me.next_order()) {
    order part = *next;
    part.in_flight = std::max(1U, next->in_flight / count);
    const auto begin_of = [&](std::uint32_t k) {
      return static_cast<std::uint32_t>(std::uint64_t{next->operations} * k / count);
    };
    std::vector<std::jthread> working;
    working.reserve(count);
    for (std::uint32_t k = 0; k < count; ++k)
      working.emplace_back([&, k] { lanes[k]->carry_out(part, begin_of(k), begin_of(k + 1)); });
    working.clear();
    me.done(next->operations);
  }
}

}  // namespace

void play(member& me, const setting& s) {
  // The lanes are not destroyed: the process ends without an orderly shutdown.
  auto& lanes = *new std::vector<std::unique_ptr<lane>>;
  lanes.reserve(s.reactors);
  for (std::uint32_t k = 0; k < s.reactors; ++k) lanes.push_back(std::make_unique<lane>(me, s, k));
  constexpr std::uint16_t see_reactors = 1;
  me.publish(see_reactors);
  for (const auto& each : lanes) each->introduce();
  me.ready();
  if (me.index() == 0) return obey(me, lanes);
  std::promise<void>().get_future().wait();
}

}  // namespace bench::cores
