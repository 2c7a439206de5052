#include "tests/rails/peer_load.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"
#include "transport/memory/transfer.hpp"

namespace scoll::rail_test {

using namespace transport;

namespace {

/// Long loops over memory pause after that many bytes, so that calls are not held up. They sleep, because a
/// task that only yields may run again before the next arrivals are looked for.
constexpr std::size_t stride = std::size_t{256} << 10;
constexpr nanoseconds breath = std::chrono::microseconds(20);

/// The pause until the next attempt. Failures in a row are not tried in a hurry: each of them is told.
nanoseconds after(const status& outcome, nanoseconds pause) {
  return outcome ? pause : pause + std::chrono::milliseconds(100);
}

task<std::size_t> count_changed(std::span<const std::byte> memory, std::byte pattern) {
  std::size_t same = 0;
  for (std::size_t at = 0; at < memory.size(); at += stride) {
    same += static_cast<std::size_t>(std::ranges::count(memory.subspan(at, stride), pattern));
    co_await sleep_for(breath);
  }
  co_return memory.size() - same;
}

}  // namespace

peer_load::peer_load(executor& ex, peer_node& node, on_begun begun, on_over over)
    : executor_(ex), node_(node), begun_(std::move(begun)), over_(std::move(over)), scope_(ex) {}

void peer_load::keep_calling(node_id to, nanoseconds pause) {
  scope_.spawn(call_loop(to, pause));
}

void peer_load::keep_pulling(node_id from, nanoseconds pause) {
  scope_.spawn(pull_loop(from, pause));
}

void peer_load::call_once(node_id to) {
  scope_.spawn(single_call(to));
}

void peer_load::pull_once(node_id from) {
  scope_.spawn(single_pull(from));
}

void peer_load::push_once(node_id to) {
  scope_.spawn(single_push(to));
}

void peer_load::watch_lateness() {
  scope_.spawn(lateness_loop());
}

task<void> peer_load::end() {
  scope_.request_stop();
  co_await scope_.join();
}

void peer_load::mark() noexcept {
  longest_call_ = longest_lateness_ = nanoseconds(0);
}

nanoseconds peer_load::longest_call() const noexcept {
  if (waiting_.empty()) return longest_call_;
  return std::max(longest_call_, now() - std::ranges::min(waiting_));
}

task<void> peer_load::lateness_loop() {
  constexpr nanoseconds step = std::chrono::milliseconds(5);
  while (!scope_.stop_requested()) {
    const time_point due = now() + step;
    co_await sleep_until(due);
    longest_lateness_ = std::max(longest_lateness_, now() - due);
  }
}

// ---- calls

task<void> peer_load::call_loop(node_id to, nanoseconds pause) {
  while (!scope_.stop_requested()) {
    const status outcome = co_await call(to, false);
    const nanoseconds rest = after(outcome, pause);
    co_await sleep_for(rest);
  }
}

task<std::vector<nanoseconds>> peer_load::time_calls(node_id to, std::size_t count, nanoseconds pause) {
  std::vector<nanoseconds> times;
  for (std::size_t i = 0; i < count; ++i) {
    const time_point began = now();
    const status outcome = co_await call(to, false);
    if (outcome) times.push_back(now() - began);
    co_await sleep_for(pause);
  }
  co_return times;
}

task<void> peer_load::single_call(node_id to) {
  const status outcome = co_await call(to, true);
  outcome.ignore();
}

task<status> peer_load::call(node_id to, bool single) {
  const ask head{.number = node_.wire().options().self << numbers_seen::caller_shift | ++numbers_,
                 .what = ask::kind::echo};
  std::array<std::byte, call_bytes> payload;
  fill_payload(head.number, payload);
  question q;
  const auto mine = waiting_.insert(waiting_.end(), now());
  status outcome = q.send(node_.wire(), to, head, payload);
  if (outcome) {
    co_await q.over.wait();
    outcome = q.outcome;
    if (outcome && (q.reply_head.number != head.number || !std::ranges::equal(q.reply, payload))) ++damaged_;
  }
  const nanoseconds took = now() - *mine;
  waiting_.erase(mine);
  longest_call_ = std::max(longest_call_, took);
  calls_ += outcome.has_value();
  finish({"call", to, head.number, took, outcome}, single);
  co_return outcome;
}

void peer_load::finish(const work_over& ended, bool single) {
  failures_ += !ended.outcome.has_value();
  if (single || !ended.outcome || (ended.what == "call" && ended.took >= slow)) over_(ended);
}

// ---- pulls

task<void> peer_load::pull_loop(node_id from, nanoseconds pause) {
  place mine;
  mine.memory.resize(peer_node::region_bytes);
  while (!scope_.stop_requested()) {
    const status outcome = co_await pull_into(mine, from, false);
    const nanoseconds rest = after(outcome, pause);
    co_await sleep_for(rest);
    if (mine.given_back) changed_bytes_ += co_await count_changed(mine.memory, mine.pattern);
    mine.given_back = false;
  }
}

task<void> peer_load::single_pull(node_id from) {
  place& mine = places_.emplace_back();
  mine.memory.reserve(peer_node::region_bytes);
  while (mine.memory.size() < peer_node::region_bytes) {
    mine.memory.resize(mine.memory.size() + stride);
    co_await sleep_for(breath);
  }
  begun_("pull", from);
  const status outcome = co_await pull_into(mine, from, true);
  outcome.ignore();
}

task<void> peer_load::single_push(node_id to) {
  std::vector<std::byte> bytes;
  bytes.reserve(peer_node::region_bytes);
  region_content content(to);
  while (bytes.size() < peer_node::region_bytes) {
    bytes.resize(bytes.size() + stride);
    content.next(std::span(bytes).last(stride));
    co_await sleep_for(breath);
  }
  const time_point began = now();
  const auto region = co_await region_of(to);
  status outcome = region ? status() : status(region.error());
  if (outcome) {
    const push_status pushed = co_await push(node_.wire(), *region, 0, std::span<const std::byte>(bytes));
    if (!pushed) outcome = pushed.error();
  }
  finish({"push", to, 0, now() - began, outcome}, true);
}

task<status> peer_load::pull_into(place& into, node_id from, bool single) {
  const time_point began = now();
  const auto region = co_await region_of(from);
  status outcome = region ? status() : status(region.error());
  const std::span<std::byte> memory(into.memory);
  if (outcome) outcome = co_await pull(node_.wire(), *region, 0, memory);
  const nanoseconds took = now() - began;
  if (outcome) co_await check(memory, from);
  co_await give_back(into);
  longest_pull_ = std::max(longest_pull_, took);
  pulls_ += outcome.has_value();
  finish({"pull", from, pulls_, took, outcome}, single);
  co_return outcome;
}

task<result<region_descriptor>> peer_load::region_of(node_id peer) {
  question q;
  const ask head{.number = 0, .what = ask::kind::describe};
  const status sent = q.send(node_.wire(), peer, head, {});
  if (!sent) co_return sent.error();
  co_await q.over.wait();
  if (!q.outcome) co_return q.outcome.error();
  region_descriptor name;
  if (q.reply.size() != sizeof name) co_return error(errc::malformed, "a descriptor of another size");
  std::memcpy(&name, q.reply.data(), sizeof name);
  co_return name;
}

task<void> peer_load::check(std::span<const std::byte> got, node_id from) {
  region_content content(from);
  std::vector<std::byte> expected(stride);
  for (std::size_t at = 0; at < got.size(); at += stride) {
    content.next(expected);
    damaged_ += !std::ranges::equal(got.subspan(at, stride), expected);
    co_await sleep_for(breath);
  }
}

/// From here on the memory belongs to its owner again, and nothing else may write to it.
task<void> peer_load::give_back(place& of) {
  of.pattern = next_pattern_;
  next_pattern_ = static_cast<std::byte>(static_cast<unsigned>(next_pattern_) % 250 + 1);
  for (std::size_t at = 0; at < of.memory.size(); at += stride) {
    std::memset(of.memory.data() + at, static_cast<int>(of.pattern), stride);
    co_await sleep_for(breath);
  }
  of.given_back = true;
}

task<std::uint64_t> peer_load::changed_bytes() {
  std::uint64_t sum = changed_bytes_;
  for (const place& each : places_) {
    if (each.given_back) sum += co_await count_changed(each.memory, each.pattern);
  }
  co_return sum;
}

}  // namespace scoll::rail_test
