// A server of several cores: a thread, a reactor, a node and a part of the objects for each of them. They share nothing,
// so nothing is locked. A client sends each call to the core that has the object; a broadcast asks all cores at once.
// Prints something like: 2 cores have 519 + 481 objects, 1000 in all
#include <fmt/core.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "scoll/blocking.hpp"
#include "scoll/collective.hpp"
#include "scoll/coro.hpp"
#include "scoll/ship.hpp"
#include "transport/tcp/tcp_rail.hpp"

using namespace std::chrono_literals;

namespace {

using object_map = std::unordered_map<std::string, std::string>;

struct put_request {
  std::string name, bytes;
};
constexpr scoll::remote_function<put_request> put{"cores.put"};
constexpr scoll::remote_function<scoll::nothing, std::uint64_t> size{"cores.size"};

struct count {
  static constexpr scoll::service_id id{0x0140};
  using request = scoll::nothing;
  using reply = scoll::sum<std::uint64_t>;
  reply execute(const request&, scoll::bcast_context&) const { return {objects->size()}; }

  const object_map* objects;
};

/// Where a node is reached.
struct place {
  scoll::node_id id = 0;
  std::string address;
};

scoll::node_options core_options(scoll::node_id id) {
  scoll::node_options o;
  o.id = id;
  o.cluster = "cores";
  o.incarnation = 1;  // a server that starts again has to be told apart: see docs/guide.md
  return o;
}

scoll::node_options client_options() {
  scoll::node_options o;
  o.cluster = "cores";
  o.role = scoll::node_role::client;
  return o;
}

// [core]
/// One core of the server. Everything in it belongs to its thread; other threads use `run_and_wait`.
class core {
 public:
  explicit core(std::uint32_t number) : number_(number), thread_([this] { run(); }) {
    node_ = started_.get_future().get();
  }
  ~core() {
    scoll::run_and_wait(*node_, [this] { return tell_end(); }).ignore();
    thread_.join();
  }

  place where() const { return {number_ + 1, address_}; }
  scoll::node& node() noexcept { return *node_; }

  /// Makes the other cores known to this one: a broadcast goes from core to core.
  void introduce(const std::vector<place>& all) {
    scoll::run_and_wait(*node_, [&] { return add_peers(all); }).value();
  }

 private:
  void run() {
    stay_on_core();
    const auto loop = scoll::transport::reactor::create().value();
    scoll::transport::tcp_rail rail(*loop);
    scoll::node self(*loop, rail, core_options(number_ + 1));
    object_map objects;
    self.serve(put,
               [&](const put_request& asked, scoll::call_context&) { objects[asked.name] = asked.bytes; })
        .value();
    self.serve(size,
               [&](const scoll::nothing&, scoll::call_context&) { return std::uint64_t{objects.size()}; })
        .value();
    self.serve(count{&objects}).value();
    self.listen("127.0.0.1:0").value();
    address_ = self.listen_address();
    started_.set_value(&self);
    sync_wait(*loop, serve(self)).ignore();
  }
  scoll::task<scoll::status> serve(scoll::node& self) {
    co_await ended_.wait();
    co_return co_await self.shutdown(5s);
  }
  scoll::task<scoll::status> add_peers(const std::vector<place>& all) {
    for (const place& each : all) {
      if (each.id == node_->id()) continue;
      const auto added = node_->add_peer(each.id, each.address);
      if (!added) co_return added.error();
    }
    co_return scoll::status{};
  }
  scoll::task<scoll::status> tell_end() {
    ended_.set();
    co_return scoll::status{};
  }
  /// The scheduler would put threads where they do not disturb each other, but moves them now and then.
  void stay_on_core() const {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(number_ % std::thread::hardware_concurrency(), &own);
    if (sched_setaffinity(0, sizeof own, &own) != 0) fmt::print(stderr, "core {} is not ours\n", number_);
  }

  std::uint32_t number_;
  std::string address_;
  scoll::node* node_ = nullptr;
  scoll::event ended_;
  std::promise<scoll::node*> started_;
  std::thread thread_;
};
// [core]

// [client]
/// The core that keeps an object; all callers have to agree.
const place& core_of(const std::string& name, const std::vector<place>& cores) {
  return cores[std::hash<std::string>()(name) % cores.size()];
}

scoll::task<scoll::status> fill(scoll::node& client, const std::vector<place>& cores, std::uint32_t objects) {
  for (std::uint32_t i = 0; i < objects; ++i) {
    const put_request asked{fmt::format("object {}", i), "some bytes"};
    const auto stored =
        co_await scoll::ship(client, core_of(asked.name, cores).address, put, asked, {.deadline = 5s});
    if (!stored) co_return stored.error();
  }
  co_return scoll::status{};
}
// [client]

scoll::task<std::vector<std::uint64_t>> ask_each(scoll::node& client, const std::vector<place>& cores) {
  std::vector<std::uint64_t> found;
  for (const place& one : cores) {
    const auto there = co_await scoll::ship(client, one.address, size);
    found.push_back(there.value_or(0));
  }
  co_return found;
}

scoll::task<std::uint64_t> ask_all(scoll::node& first, const std::vector<place>& cores) {
  std::vector<scoll::target> members;
  members.reserve(cores.size());
  for (const place& one : cores) members.push_back({one.id, {}});
  auto group = co_await first.create_group<count>(members);
  const auto answer = co_await scoll::bcast(group.value(), {}, {.deadline = 5s});
  co_return answer.ok() ? answer->value : 0;
}

scoll::task<std::vector<std::uint64_t>> use(scoll::node& client, const std::vector<place>& cores,
                                            std::uint32_t objects) {
  const auto filled = co_await fill(client, cores, objects);
  auto found = co_await ask_each(client, cores);
  const auto left = co_await client.shutdown(5s);
  if (!filled || !left) found.clear();
  co_return found;
}

}  // namespace

int main() {
  std::vector<std::unique_ptr<core>> server;
  std::vector<place> cores;
  for (std::uint32_t i = 0; i < std::clamp(std::thread::hardware_concurrency(), 2U, 8U); ++i) {
    server.push_back(std::make_unique<core>(i));
    cores.push_back(server.back()->where());
  }
  for (const auto& one : server) one->introduce(cores);

  const auto loop = scoll::transport::reactor::create().value();
  scoll::transport::tcp_rail rail(*loop);
  scoll::node client(*loop, rail, client_options());
  constexpr std::uint32_t objects = 1000;
  const auto each = sync_wait(*loop, use(client, cores, objects));
  const auto all = scoll::run_and_wait(server[0]->node(), [&] { return ask_all(server[0]->node(), cores); });

  fmt::print("{} cores have {} objects, {} in all\n", cores.size(), fmt::join(each, " + "), all);
  const bool all_work = std::ranges::all_of(each, [](std::uint64_t n) { return n > objects / 20; });
  return all == objects && each.size() == cores.size() && all_work ? 0 : 1;
}
