#include "ring.hpp"

#include <fmt/format.h>

#include <utility>

namespace plan_b {

using scoll::errc;
using scoll::error;
using scoll::result;
using scoll::status;
using scoll::task;

ring::ring(scoll::node& on, scoll::nanoseconds pull_deadline, std::function<void(std::uint64_t)> on_block)
    : node_(on), pull_deadline_(pull_deadline), on_block_(std::move(on_block)) {
  on.serve(pull, [this](const pull_request& asked, scoll::call_context& call) {
      return give(asked, call.stop());
    }).value();
}

/// Gives the next server a block as soon as it is there. A server that is in plan B already may ask one that is
/// not.
task<result<block>> ring::give(const pull_request& asked, scoll::stop_token stop) {
  while (true) {
    if (asked.plan < plan_) co_return error(errc::stale, "this ring is over");
    if (asked.plan == plan_) {
      const auto found = ready_.find(asked.number);
      if (found != ready_.end()) co_return found->second;
    }
    changed_.reset();
    const status waited = co_await changed_.wait(stop);
    if (!waited) co_return waited.error();
  }
}

task<result<block>> ring::pull_from(const ring_group& g, std::uint32_t rank, std::uint64_t plan,
                                    std::uint64_t number) {
  const pull_request asked{plan, number};
  auto got = co_await scoll::ship(node_, g.members().node(rank), pull, asked,
                                  {.deadline = pull_deadline_, .within = g});
  if (!got) co_return got.error();
  co_return *got;
}

/// The first server takes a block back from the last one, and looks whether everybody has added its part.
task<status> ring::take_back(const ring_group& g, std::uint64_t plan, std::uint64_t number) {
  const auto back = co_await pull_from(g, g.members().size() - 1, plan, number);
  if (!back) co_return back.error();
  if (back->sum != expected_sum(g)) co_return error::user(1, "a block came back with a wrong sum");
  finished_ = number + 1;
  on_block_(number);
  co_return status{};
}

void ring::publish(const block& made) {
  ready_.emplace(made.number, made);
  while (ready_.size() > 2 * window) ready_.erase(ready_.begin());
  changed_.set();
}

task<status> ring::run(const ring_group& g, std::uint64_t plan, std::uint64_t first, std::uint64_t end) {
  plan_ = plan;
  ready_.clear();
  finished_ = first;
  changed_.set();
  const std::uint64_t self = g.members().node(g.rank());
  const bool makes = g.rank() == 0;
  for (std::uint64_t number = first; number < end; ++number) {
    block mine{number, self};
    if (makes && number >= first + window) {
      const status back = co_await take_back(g, plan, number - window);
      if (!back) co_return back;
    }
    if (!makes) {
      const auto before = co_await pull_from(g, g.rank() - 1, plan, number);
      if (!before) co_return before.error();
      mine.sum += before->sum;
    }
    publish(mine);
    if (makes) continue;
    finished_ = number + 1;
    on_block_(number);
  }
  while (makes && finished_ < end) {
    const status back = co_await take_back(g, plan, finished_);
    if (!back) co_return back;
  }
  co_return status{};
}

std::uint64_t expected_sum(const ring_group& g) {
  std::uint64_t sum = 0;
  for (std::uint32_t rank = 0; rank < g.members().size(); ++rank) sum += g.members().node(rank);
  return sum;
}

std::string names_of(const ring_group& g) {
  std::string names;
  for (std::uint32_t rank = 0; rank < g.members().size(); ++rank)
    names += fmt::format("{}{}", rank == 0 ? "" : " ", g.members().node(rank));
  return names;
}

}  // namespace plan_b
