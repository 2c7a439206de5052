#include "commands.hpp"

#include <fmt/format.h>

#include <utility>

#include "daemon.hpp"
#include "gossip/event_queue.hpp"
#include "report.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"

namespace gossipctl {
namespace {

using scoll::transport::control_connection;

constexpr scoll::nanoseconds patience = std::chrono::seconds(10);  // with a silent client
constexpr scoll::nanoseconds status_interval = std::chrono::seconds(1);

std::string to_line(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json good(json value) {
  json answer;
  answer["ok"] = true;
  answer["value"] = std::move(value);
  return answer;
}
json bad(std::string text) {
  json answer;
  answer["ok"] = false;
  answer["error"] = std::move(text);
  return answer;
}

json explain(daemon& of, const json& command) {
  const auto who = command.find("who");
  if (who == command.end() || !who->is_number_unsigned()) return bad("explain whom? 'who' is an index");
  const auto index = who->get<std::uint64_t>();
  if (index >= of.settings().shared->size()) return bad(fmt::format("there is no participant {}", index));
  const auto verdict = of.member().explain(static_cast<participant_index>(index));
  json value = verdict_json(of.settings(), verdict);
  value["clock"] = of.member().clock();
  value["self"] = index == of.member().self();
  value["interval_ms"] = std::chrono::duration<double, std::milli>(of.settings().shared->interval()).count();
  value["observer"] = of.settings().shared->address(of.member().self());
  return good(std::move(value));
}

json reload(daemon& of) {
  auto done = of.reload_keys();
  return done ? good(*done) : bad(describe(done.error()));
}

json answer_to(daemon& of, const std::string& name, const json& command) {
  const auto state = [&of] { return of.member().take_snapshot(); };
  const config& c = of.settings();
  if (name == "status") return good(status_json(c, state(), of.facts()));
  if (name == "members") return good(members_json(c, state()));
  if (name == "dump") return good(dump_json(c, state(), of.facts()));
  if (name == "metrics") return good(metrics_text(c, state(), of.facts()));
  if (name == "explain") return explain(of, command);
  if (name == "reload_keys") return reload(of);
  if (name == "stop") {
    of.ask_to_stop();
    return good("stopping");
  }
  return bad(fmt::format("there is no command '{}'", name));
}

/// Stops a command when its client has closed the connection.
scoll::task<void> watch_client(control_connection& client, scoll::scope& working) {
  const auto gone = co_await client.hung_up(working.token());
  if (gone) working.request_stop();
}

/// Adds the time of the system's monotonic clock, which all processes of a host share.
std::string changed_line(daemon& of, const scoll::gossip::liveness_event& e) {
  json line = event_json(of.settings(), e, of.member().explain(e.who));
  line["monotonic_s"] = std::chrono::duration<double>(of.now().time_since_epoch()).count();
  return to_line(line);
}
std::string status_line(daemon& of) {
  json line;
  line["status"] = status_json(of.settings(), of.member().take_snapshot(), of.facts());
  return to_line(line);
}
std::string lost_line() {
  return to_line({{"event", "lost"}, {"text", "changes were not taken in time; the next status is right"}});
}

scoll::task<void> tell_changes(daemon& of, control_connection& client, scoll::stop_token stop) {
  scoll::gossip::event_queue changes;
  of.member().subscribe(changes);
  std::string line = status_line(of);
  while (!stop.stop_requested()) {
    const auto sent = co_await client.write_line(std::move(line), stop);
    if (!sent) co_return;
    scoll::deadline_stop limit(scoll::deadline::in(status_interval), stop);
    const auto next = co_await changes.next(limit.token());
    if (next) {
      line = changed_line(of, *next);
    } else if (next.error() == scoll::errc::stale) {
      line = lost_line();
    } else {
      line = status_line(of);
    }
  }
}

scoll::task<void> watch(daemon& of, control_connection& client, scoll::stop_token stop) {
  scoll::scope working(stop);
  working.spawn(watch_client(client, working));
  co_await tell_changes(of, client, working.token());
  working.request_stop();
  co_await working.join();
}

}  // namespace

scoll::task<void> serve(daemon& of, control_connection& client, scoll::stop_token stop) {
  scoll::deadline_stop limit(scoll::deadline::in(patience), stop);
  const auto line = co_await client.read_line(limit.token());
  if (!line) co_return;
  const json command = json::parse(*line, nullptr, false);
  const auto name = command.is_object() ? command.find("command") : command.end();
  std::string answer;
  if (name == command.end() || !name->is_string()) {
    answer = to_line(bad("not a command: expected {\"command\": \"status\"}"));
  } else if (*name == "watch") {
    co_await watch(of, client, stop);
    co_return;
  } else {
    answer = to_line(answer_to(of, name->get<std::string>(), command));
  }
  scoll::deadline_stop sending(scoll::deadline::in(patience), {});
  (co_await client.write_line(std::move(answer), sending.token())).ignore();
}

}  // namespace gossipctl
