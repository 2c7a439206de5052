#include "commands.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "answer_json.hpp"
#include "ls_command.hpp"
#include "move_object.hpp"
#include "pool_question.hpp"
#include "revoke_scrubs.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "transport/session/endpoint.hpp"

namespace shard {
namespace {

using scoll::errc;

constexpr scoll::nanoseconds patience = std::chrono::seconds(10);  // with a silent client
constexpr scoll::nanoseconds report_interval = std::chrono::milliseconds(300);

std::string to_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);  // file names may not be UTF-8
}

/// Stops a command when its client has closed the connection.
scoll::task<void> watch(control_connection& client, scoll::scope& working) {
  const auto gone = co_await client.hung_up(working.token());
  if (gone) working.request_stop();
}

}  // namespace

scoll::task<void> commands::serve(control_connection& client, scoll::stop_token stop) {
  scoll::deadline_stop limit(scoll::deadline::in(patience), stop);
  const auto line = co_await client.read_line(limit.token());
  if (!line) co_return;
  const auto parsed = parse_command(*line);
  json reply;
  if (const auto* c = std::get_if<command>(&parsed)) {
    scoll::scope working(stop);
    working.spawn(watch(client, working));
    reply = co_await run(client, *c, working.token());
    working.request_stop();
    co_await working.join();
    reply["command"] = c->name;
  } else {
    reply = failure({errc::invalid_argument, std::get<std::string>(parsed)});
  }
  if (const auto sent = co_await client.write_line(to_line(reply)); !sent)
    spdlog::info("a client did not wait for its answer: {}", describe(sent.error()));
}

scoll::task<json> commands::run(control_connection& client, const command& c, scoll::stop_token stop) {
  spdlog::info("asked for {}", c.name);
  if (c.name == "status") co_return status();
  if (c.name == "members") co_return members();
  if (c.name == "stop") {
    stop_wanted_.set();
    co_return failure(scoll::error());
  }
  for (const std::string_view known :
       {"df",     "top",    "find",  "ls",    "scrub",  "ingest", "install",     "put",
        "get",    "where",  "plan",  "trace", "layout", "pool",   "maintenance", "leader",
        "revoke", "commit", "epoch", "evict", "admit",  "clients"})
    if (c.name == known) co_return co_await run_with_others(client, c, stop);
  co_return failure(make_error(errc::invalid_argument, "there is no command '{}'", c.name));
}

/// Holds a command until this server takes part in the gossip, at most for the time of the command.
scoll::task<json> commands::run_with_others(control_connection& client, command c, scoll::stop_token stop) {
  const bool is_long = c.name == "scrub" || c.name == "ingest" || c.name == "install" || c.name == "ls";
  if (c.timeout.count() <= 0) c.timeout = is_long ? config_.long_deadline : config_.quick_deadline;
  c.until = scoll::deadline::in(c.timeout);
  scoll::deadline_stop limit(c.until, stop);
  const auto active = co_await heartbeat_.active(limit.token());
  if (!active && limit.reason() == errc::deadline_exceeded) {
    co_return failure({errc::deadline_exceeded,
                       "nobody was asked: this server has just started, and only listens (stealth)"});
  }
  if (!active) co_return failure(active.error());
  co_return co_await run_active(client, c, stop);
}

scoll::task<json> commands::run_active(control_connection& client, const command& c, scoll::stop_token stop) {
  if (c.name == "df") co_return co_await ask<df>(df::request{}, c, stop);
  if (c.name == "top") co_return co_await ask<top>(top::request{}, c, stop);
  if (c.name == "plan") co_return co_await plan(c);
  if (c.name == "trace") co_return co_await trace(c, stop);
  if (c.name == "find") co_return co_await find_names(c, stop);
  if (c.name == "ls") co_return co_await list_names(client, c, stop);
  if (c.name == "scrub") co_return co_await scrub_all(client, c, stop);
  if (c.name == "ingest") co_return co_await ingest_folder(client, c, stop);
  if (c.name == "install") co_return co_await install_file(client, c, stop);
  if (c.name == "put" || c.name == "get" || c.name == "where")
    co_return co_await move_object(client, c, stop);
  co_return co_await run_on_a_group(c, stop);
}

scoll::task<json> commands::run_on_a_group(const command& c, scoll::stop_token stop) {
  if (c.name == "layout") co_return co_await layout_.ask(c, stop);
  if (c.name == "pool") co_return co_await ask_pool(self_, c, stop);
  if (c.name == "maintenance") co_return co_await maintenance_.run(c, stop);
  if (c.name == "leader") co_return co_await maintenance_.lead(c, stop);
  if (c.name == "commit") co_return co_await epochs_.commit(c, stop);
  if (c.name == "epoch") co_return co_await epochs_.show(c, stop);
  if (c.name == "evict" || c.name == "admit" || c.name == "clients") co_return co_await clients_.run(c, stop);
  co_return co_await revoke_scrubs(self_, board_, c);
}

// ---- questions to all

template <class S>
scoll::task<json> commands::ask(const typename S::request& request, const command& c,
                                scoll::stop_token stop) {
  ask_options options;
  options.deadline = c.until;
  options.living = c.living;
  options.stop = stop;
  const auto answered = co_await collectives_.ask<S>(request, options);
  const answer_account& account = answered.account;
  if (!account.ended) {
    spdlog::warn("{}: {}; {}", S::name, describe(account.ended.error()),
                 describe(account.outcome, *account.members));
  }
  json all = to_json(answered);
  all["root"] = self_.id();
  co_return all;
}

scoll::task<json> commands::find_names(const command& c, scoll::stop_token stop) {
  find::request request;
  request.pattern = c.pattern;
  co_return co_await ask<find>(request, c, stop);
}

scoll::task<json> commands::list_names(control_connection& client, const command& c, scoll::stop_token stop) {
  ls_command listing(self_, collectives_, client, c, stop);
  co_return co_await listing.run();
}

scoll::task<json> commands::scrub_all(control_connection& client, const command& c, scoll::stop_token stop) {
  scrub::request request;
  request.run = new_run();
  request.pace = c.pace;
  co_return co_await with_progress(client, request.run, ask<scrub>(request, c, stop), stop);
}

scoll::task<json> commands::ingest_folder(control_connection& client, const command& c,
                                          scoll::stop_token stop) {
  if (c.living) {
    co_return failure({errc::invalid_argument, "ingest needs all servers: each takes what it owns"});
  }
  ingest::request request;
  request.folder = c.folder;
  request.run = new_run();
  request.max_objects = c.max_objects;
  request.max_bytes = c.max_bytes;
  co_return co_await with_progress(client, request.run, ask<ingest>(request, c, stop), stop);
}

scoll::task<json> commands::install_file(control_connection& client, const command& c,
                                         scoll::stop_token stop) {
  const std::uint64_t run = new_run();
  co_return co_await with_progress(client, run, install_.run(c, run, stop), stop);
}

/// The number contains the root's id, because other roots number their runs as well.
std::uint64_t commands::new_run() {
  return self_.id() << 32 | ++runs_;
}

/// Does `work`, and meanwhile tells the client how far its run has come.
scoll::task<json> commands::with_progress(control_connection& client, std::uint64_t run,
                                          scoll::task<json> work, scoll::stop_token stop) {
  scoll::scope reporting(stop);
  reporting.spawn(report(client, run, reporting.token()));
  json all = co_await std::move(work);
  reporting.request_stop();
  co_await reporting.join();
  co_return all;
}

scoll::task<void> commands::report(control_connection& client, std::uint64_t run, scoll::stop_token stop) {
  progress::request request;
  request.run = run;
  ask_options options;
  options.deadline = std::chrono::seconds(5);
  options.stop = stop;
  for (;;) {
    const auto slept = co_await scoll::sleep_for(report_interval, stop);
    if (!slept) co_return;
    const auto answered = co_await collectives_.ask<progress>(request, options);
    if (stop.stop_requested()) co_return;
    if (!answered.value) continue;
    json line;
    line["progress"] = to_json(*answered.value, *answered.account.members);
    line["progress"]["servers"] = answered.account.outcome.merged().size();
    const auto sent = co_await client.write_line(to_line(line));
    if (!sent) co_return;
  }
}

// ---- the rest

scoll::task<json> commands::move_object(control_connection& client, const command& c,
                                        scoll::stop_token stop) {
  const auto owner = owner_rank(c.object, static_cast<std::uint32_t>(config_.nodes.size()));
  object_client object(self_, desk_, config_.nodes[owner].id, c.until);
  object_move move(client, object, c.object, ++runs_, stop);
  auto moved = co_await move.run(c.name);
  if (!moved) co_return failure(moved.error());
  json all = failure(scoll::error());
  all["value"] = to_json(c.object, object.owner(), *moved);
  co_return all;
}

scoll::task<json> commands::plan(const command& c) {
  const auto chosen = co_await collectives_.plan(c.until);
  if (!chosen) co_return failure(chosen.error());
  json all = failure(scoll::error());
  all["value"] = to_json(*chosen);
  all["value"]["groups_have"] = to_string(collectives_.tree().value_or(config_.tree));
  all["root"] = self_.id();
  co_return all;
}

/// Asks a question whose answer is short, and tells its course in place of the answer.
scoll::task<json> commands::trace(const command& c, scoll::stop_token stop) {
  ask_options options;
  options.deadline = c.until;
  options.living = c.living;
  options.stop = stop;
  options.trace = true;
  const df::request request;
  const auto answered = co_await collectives_.ask<df>(request, options);
  const scoll::collective_trace& course = answered.account.trace;
  json all = to_json(answered.account);
  all["root"] = self_.id();
  if (course.empty()) co_return all;
  all["value"]["text"] = to_text(course);
  all["value"]["chrome"] = json::parse(to_chrome_json(course));
  co_return all;
}

json commands::members() const {
  json all = failure(scoll::error());
  all["value"] = heartbeat_.to_json();
  return all;
}

json commands::status() {
  json value;
  value["cluster"] = config_.name;
  value["node"] = self_.id();
  value["rank"] = *config_.rank_of(self_.id());
  value["servers"] = config_.nodes.size();
  value["tree"] = collectives_.tree() ? to_string(*collectives_.tree()) : config_.tree_text();
  value["objects"] = store_.objects();
  value["bytes"] = store_.bytes();
  value["folder"] = store_.folder();
  epochs_.add_to(value);
  const scoll::node_snapshot now = self_.snapshot();
  value["incarnation"] = now.incarnation;
  value["groups"] = now.groups;
  value["operations"] = now.operations;
  value["broadcasts_rooted"] = now.collectives.started;
  value["broadcasts_received"] = now.collectives.received;
  value["asked_again"] = now.collectives.asked_again;
  value["bytes_sent"] = self_.wire().statistics().bytes_sent;
  json connected = json::array();
  for (const scoll::peer_snapshot& peer : now.peers) {
    if (peer.connected) connected.push_back(peer.id);
  }
  value["connected"] = std::move(connected);
  json named = json::array();
  for (const scoll::group_snapshot& group : now.named_groups) {
    named.push_back({{"name", group.name},
                     {"creator", group.id.creator},
                     {"members", group.members},
                     {"delayed", group.delayed}});
  }
  value["named_groups"] = std::move(named);
  json all = failure(scoll::error());
  all["value"] = std::move(value);
  return all;
}

}  // namespace shard
