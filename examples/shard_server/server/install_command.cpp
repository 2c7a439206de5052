#include "install_command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "ask_group.hpp"
#include "attempts.hpp"
#include "roll_call.hpp"
#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {
namespace {

using scoll::errc;

constexpr scoll::nanoseconds roll_call_limit = std::chrono::seconds(2);

scoll::status check(const command& c) {
  if (!c.file.starts_with('/')) return scoll::error(errc::invalid_argument, "install needs an absolute path");
  if (c.plan.empty()) return check_installed_name(c.object);
  const auto plan = scoll::parse_bulk_plan(c.plan);
  if (!plan || !plan->can_pass()) {
    return scoll::make_error(errc::invalid_argument,
                             "'{}' needs memory for the file, or is no plan: give chain, kary:K or knomial:K",
                             c.plan);
  }
  return check_installed_name(c.object);
}

std::string names_of(const std::vector<scoll::node_id>& nodes) {
  return fmt::format("{} {}", nodes.size() == 1 ? "node" : "nodes", fmt::join(nodes, ", "));
}

std::vector<scoll::node_id> ids_of(const scoll::rank_set& ranks, const scoll::membership& members) {
  std::vector<scoll::node_id> nodes;
  ranks.for_each([&](std::uint32_t rank) { nodes.push_back(members.node(rank)); });
  return nodes;
}

bool is_absent(const std::vector<absent_node>& absent, scoll::node_id node) {
  return std::ranges::find(absent, node, &absent_node::node) != absent.end();
}

/// Says what a person can do about servers that do not have the file; "" if all have it.
std::string advice(const answer<install::reply>& answered) {
  std::vector<scoll::node_id> absent;
  absent.reserve(answered.account.absent.size());
  for (const absent_node& each : answered.account.absent) absent.push_back(each.node);
  if (!answered.value && !absent.empty())
    return fmt::format("start {}, or install the file on the others with --living", names_of(absent));
  if (!absent.empty())
    return fmt::format("repeat this when {} can be reached: the others keep the file", names_of(absent));
  const auto& outcome = answered.account.outcome;
  if (outcome.count(scoll::member_state::failed) != 0 && answered.value) {
    return fmt::format("remove the cause on {}, where nothing has changed, and repeat this",
                       names_of(ids_of(outcome.failed(), *answered.account.members)));
  }
  return answered.account.ended ? "" : "repeat this: servers that have the file receive it anew";
}

}  // namespace

scoll::task<json> install_command::run(const command& c, std::uint64_t run, scoll::stop_token stop) {
  if (const auto good = check(c); !good) co_return failure(good.error());
  if (const auto allowed = upkeep_.allow_write(); !allowed) co_return failure(allowed.error());
  const auto how_far = board_.begin(run);
  how_far->total = all_.servers().size();
  scoll::deadline_stop limit(c.until, stop);
  const auto copied = co_await copy(c, *how_far, limit.token());
  if (!copied) co_return failure(limit.explain(copied.error()));
  const incoming_ptr& whole = *copied;
  if (const auto staged = desk_.stage(run, whole); !staged) {
    co_await desk_.files().remove(whole);
    co_return failure(staged.error());
  }
  json answered = co_await install_staged(c, whole, run, stop);
  co_await desk_.unstage(run);
  co_return answered;
}

// ---- the copy

scoll::task<scoll::result<install_command::incoming_ptr>> install_command::copy(const command& c,
                                                                                run_progress& how_far,
                                                                                scoll::stop_token stop) {
  using namespace scoll::transport;
  constexpr int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a FIFO does not wait for its writer
  const auto from = co_await async_open(desk_.files().files(), c.file.c_str(), flags, 0, stop);
  if (!from) co_return from.error();
  struct statx about;
  const auto known = co_await async_stat(*from, about, stop);
  if (!known) co_return known.error();
  if (!S_ISREG(about.stx_mode))
    co_return scoll::make_error(errc::invalid_argument, "{} is not a regular file", c.file);
  if (about.stx_size > scoll::most_bulk_bytes) {
    co_return scoll::make_error(errc::too_large, "{} has {} bytes: at most {} can be installed", c.file,
                                about.stx_size, scoll::most_bulk_bytes);
  }
  how_far.total_bytes = about.stx_size * how_far.total;
  auto created = co_await desk_.files().create(c.object);
  if (!created) co_return created.error();
  auto whole = std::make_shared<incoming_file>(std::move(*created));
  const auto copied = co_await copy_bytes(*from, *whole, how_far, stop);
  if (copied) co_return whole;
  co_await desk_.files().remove(whole);
  co_return copied.error();
}

scoll::task<scoll::status> install_command::copy_bytes(const scoll::transport::file& from,
                                                       incoming_file& into, run_progress& how_far,
                                                       scoll::stop_token stop) {
  auto buffer = co_await chunks_.acquire(stop);
  if (!buffer) co_return buffer.error();
  for (;;) {
    const auto n = co_await scoll::transport::async_read(from, buffer->bytes(), into.size(), stop);
    if (!n) co_return n.error();
    if (*n == 0) co_return scoll::status{};
    const auto written = co_await desk_.files().write(into, buffer->bytes().first(*n));
    if (!written) co_return written;
    how_far.bytes += *n;
  }
}

// ---- the broadcasts

scoll::task<json> install_command::install_staged(const command& c, incoming_ptr whole, std::uint64_t run,
                                                  scoll::stop_token stop) {
  const auto bytes = mapped_file::map(whole->file(), whole->size());
  if (!bytes) co_return failure(bytes.error());
  install_request asked;
  asked.name = whole->name();
  asked.bytes = whole->size();
  asked.hash = whole->hash();
  asked.run = run;
  const scoll::time_point began = scoll::executor::current().now();
  const auto done = co_await deliver(asked, *bytes, c, stop);
  const scoll::nanoseconds took = scoll::executor::current().now() - began;
  json all = described(done, asked);
  if (done.attempts != 0) all["value"]["seconds"] = std::chrono::duration<double>(took).count();
  co_return all;
}

scoll::task<install_command::delivered> install_command::deliver(const install_request& asked,
                                                                 const mapped_file& bytes, const command& c,
                                                                 scoll::stop_token stop) {
  delivered so_far;
  std::vector<absent_node> absent;
  if (c.living) absent = co_await roll_call(self_, all_.servers(), roll_call_limit, c.until);
  scoll::group_options creation = all_.creation(c.until);
  creation.name = install::name;
  const auto group = co_await self_.create_group<install>(all_.without(absent), creation);
  if (!group) {
    so_far.answered = co_await all_.nobody_asked<install>(group.error(), stop);
    co_return so_far;
  }
  scoll::bcast_options options;
  options.deadline = c.until;
  options.stop = stop;
  options.bulk = bytes.bytes();
  if (!c.plan.empty()) options.bulk_plan = scoll::parse_bulk_plan(c.plan);
  so_far.answered = co_await ask_group<install>(*group, asked, options);
  so_far.answered.account.absent = std::move(absent);
  so_far.attempts = 1;
  co_await deliver_again(so_far, *group, asked, options);
  self_.background().spawn(let_go(*group));  // a server that is silent is not waited for
  co_return so_far;
}

/// Asks those once more that were lost and answer a roll call.
scoll::task<void> install_command::deliver_again(delivered& so_far, scoll::group<install> group,
                                                 const install_request& asked, scoll::bcast_options options) {
  answer_account& account = so_far.answered.account;
  while (so_far.attempts != most_attempts && account.ended.error() == errc::incomplete) {
    std::vector<scoll::target> called;
    lost_members(account.outcome).for_each([&](std::uint32_t rank) {
      const auto node = group.members().node(rank);
      if (!is_absent(account.absent, node)) called.push_back({node, {}});
    });
    if (called.empty()) co_return;
    const auto silent = co_await roll_call(self_, called, roll_call_limit);
    scoll::rank_set again{group.rank()};
    for (const scoll::target& each : called) {
      if (!is_absent(silent, each.node)) again = again | scoll::rank_set{*group.members().rank_of(each.node)};
    }
    account.absent.insert(account.absent.end(), silent.begin(), silent.end());
    if (again.size() == 1) co_return;
    auto next = co_await ask_group<install>(group.only(again), asked, options);
    ++so_far.attempts;
    account.outcome = join_outcomes(account.outcome, next.account.outcome);
    if (account.outcome.clean()) account.ended = {};
    if (!next.value) continue;
    auto& sum = so_far.answered.value;
    if (!sum) sum.emplace();
    sum->servers.merge(next.value->servers);
    sum->bytes.merge(next.value->bytes);
    sum->hashes.merge(next.value->hashes);
  }
}

scoll::task<void> install_command::let_go(scoll::group<install> group) {
  (co_await self_.destroy(group)).ignore();
}

json install_command::described(const delivered& done, const install_request& asked) const {
  json all = to_json(done.answered);
  all["root"] = self_.id();
  all["advice"] = advice(done.answered);
  if (done.attempts == 0) return all;
  json& value = all["value"];
  value["name"] = asked.name;
  value["size"] = asked.bytes;
  value["hash"] = fmt::format("{:016x}", asked.hash);
  value["attempts"] = done.attempts;
  value["file"] = desk_.files().path_of(asked.name);
  if (const auto travelled = desk_.travels(asked.run)) {
    value["plan"] = to_string(travelled->plan);
    value["piece_bytes"] = travelled->piece_bytes;
  }
  return all;
}

}  // namespace shard
