#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <string>
#include <vector>

#include "tools/common/command_line.hpp"
#include "tools/gossipctl/ctl/run.hpp"

namespace {

using namespace gossipctl;

using command = int (*)(const arguments&);

CLI::App* add(CLI::App& app, const char* name, const char* help, command run, command& chosen) {
  auto* sub = app.add_subcommand(name, help);
  sub->callback([&chosen, run] { chosen = run; });
  return sub;
}

void add_injection(CLI::App* to, arguments& a) {
  to->add_option("--inject-loss", a.inject_loss, "For tests: drop this share of what it sends, 0 to 0.9")
      ->check(CLI::Range(0.0, 0.9));
  to->add_option("--inject-seed", a.inject_seed, "Of the draws that decide what is dropped");
}

void add_init(CLI::App& app, arguments& a, command& chosen) {
  auto* sub =
      add(app, "init", "Write the configuration file that --config or GOSSIPCTL_CONFIG names", init, chosen);
  sub->add_option("--participants", a.participants,
                  "Addresses, ranges such as 192.168.[1-2].[1-128/2]:7400, or @FILE; several are possible");
  sub->add_option("--participants-file", a.participants_file,
                  "A file of them, copied into the configuration");
  sub->add_option("--local", a.local, "That many participants on this host, on free ports of 127.0.0.1")
      ->check(CLI::Range(1U, 4096U));
  sub->add_option("--name", a.name, "Of the cluster, for people")->capture_default_str();
  sub->add_option("--interval-ms", a.interval_ms, "Of a gossip cycle")->capture_default_str();
  sub->add_option("--rtt-ms", a.rtt_ms, "A safe estimate of the round trip time")->capture_default_str();
  sub->add_option("--port", a.port, "Of participants that name none; 7400 if not given")
      ->check(CLI::Range(1, 65535));
  sub->add_option("--seed", a.seed, "Of random choices; from entropy if not given");
  sub->add_option("--key-file", a.key_file, "Keys that protect the gossip");
  sub->add_flag("--with-key", a.with_key, "Make such a file, gossip.keys if not named, with a random key");
  sub->add_option("--directory", a.directory, "Of control sockets, logs and incarnations");
  sub->add_flag("--force", a.force, "Replace the file if it exists");
}

void add_lifecycle(CLI::App& app, arguments& a, command& chosen) {
  auto* sub = add(app, "start", "Start this host's daemon and wait until it answers", start, chosen);
  sub->add_flag("--all", a.all, "Every participant of this host");
  add_injection(sub, a);
  sub = add(app, "stop", "Stop it and wait until it has ended", stop, chosen);
  sub->add_flag("--all", a.all, "Every participant of this host");
  sub = add(app, "run", "Be the daemon, in the foreground", run_daemon, chosen);
  sub->add_option("--log", a.log, "File for the log; stderr if not given");
  add_injection(sub, a);
}

void add_questions(CLI::App& app, arguments& a, command& chosen) {
  add(app, "status", "How it is as a whole; 1 if somebody is dead or not known", status, chosen);
  auto* sub =
      add(app, "members", "A table of all participants; 1 if somebody is dead or not known", members, chosen);
  sub->add_option("--state", a.state, "Only those")->check(CLI::IsMember({"alive", "dead", "unknown"}));
  sub = add(app, "watch", "Changes as they happen; on a terminal, with a table that follows", watch, chosen);
  sub->add_option("--seconds", a.seconds, "End after them")->check(CLI::Range(0.0, 1e8));
  sub->add_flag("--table", a.table, "The table also if this is no terminal");
  sub = add(app, "dump", "The whole state", dump, chosen);
  sub->add_option("--form", a.form, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  sub = add(app, "explain", "Why a participant is held to be alive or dead, and by whom", explain, chosen);
  sub->add_option("participant", a.who, "Its address, its index or id:N")->required();
  add(app, "metrics", "Prometheus' text format", metrics, chosen);
}

void add_plan(CLI::App& app, arguments& a, command& chosen) {
  auto* sub = add(app, "plan", "The threshold, false verdicts and detection times to expect", plan, chosen);
  sub->add_option("--nodes", a.nodes, "Participants, one or several; those of the configuration if not given")
      ->delimiter(',')
      ->check(CLI::Range(2, 65'536));
  sub->add_option("--loss", a.losses, "Share of messages lost, one or several")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 0.5));
  sub->add_option("--false-verdicts", a.false_verdicts, "Per cluster-year, at most")
      ->check(CLI::Range(1e-9, 1e9))
      ->each([&a](const std::string&) { a.false_verdicts_given = true; });
  sub->add_option("--interval-ms", a.interval_ms, "Of a gossip cycle")
      ->check(CLI::Range(200U, 600'000U))
      ->each([&a](const std::string&) { a.interval_given = true; });
  sub->add_option("--pause", a.pause_s, "Seconds that a participant may stop for")
      ->check(CLI::Range(0.0, 60.0));
}

void add_key_commands(CLI::App& app, arguments& a, command& chosen) {
  auto* all = add(app, "keys", "Make, change and reload the keys that protect the gossip", keys, chosen);
  all->require_subcommand(1);
  all->add_option("--file", a.key_file, "The key file; that of the configuration if not given");
  const auto action = [&](const char* name, const char* help) {
    auto* sub = all->add_subcommand(name, help);
    sub->callback([&a, name] { a.keys_action = name; });
    return sub;
  };
  action("list", "Their ids, never the keys");
  auto* sub = action("new", "A file with one key");
  sub->add_option("--key", a.key, "64 hexadecimal digits; random if not given");
  sub->add_flag("--force", a.force, "Replace the file if it exists");
  action("add", "One more, which opens: the first step of a change")
      ->add_option("--key", a.key, "64 hexadecimal digits; random if not given");
  action("promote", "Seal with it from now on: the second step")
      ->add_option("id", a.key, "Which")
      ->required();
  action("drop", "Remove it: the last step")->add_option("id", a.key, "Which")->required();
  action("reload", "Have the daemons of this host read the file again");
}

int go(int argc, char** argv) {
  CLI::App app(
      "Who is alive: the gossip of a cluster as a daemon, and what to ask it.\n"
      "Exit status: 0 done, 1 not everybody is alive (status, members) or not all started or stopped "
      "(--all),\n"
      "2 usage, configuration or keys, 3 no daemon answers, 4 the daemon refused or ended.");
  arguments args;
  args.config = "/etc/scoll/gossip.toml";
  command chosen = nullptr;
  app.require_subcommand(1);
  app.fallthrough();
  const CLI::Option* const config =
      app.add_option("--config", args.config, "The configuration file; init needs it, and has no default")
          ->envname("GOSSIPCTL_CONFIG")
          ->capture_default_str();
  app.add_option("--self", args.self,
                 "The participant meant, by address, index or id:N; else who is of this host");
  app.add_flag("--json", args.as_json, "JSON instead of text");
  app.add_option("--wait", args.wait_s, "Seconds to wait for an answer, a start or an end")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  add_init(app, args, chosen);
  add_lifecycle(app, args, chosen);
  add_questions(app, args, chosen);
  add_plan(app, args, chosen);
  add_key_commands(app, args, chosen);
  if (const auto ended = scoll::kit::read_command_line(app, argc, argv)) return *ended;
  args.config_given = config->count() != 0;
  return chosen(args);
}

/// Returns the words of the command line. The parser would take words such as "[1-2]=10.0.0.[1-2]" for lists
/// and remove their brackets, unless a blank is in front.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv, argv + argc);
  for (std::string& word : words) {
    if (word.starts_with('[') && word.ends_with(']') && word.find('=') != std::string::npos)
      word.insert(word.begin(), ' ');
  }
  return words;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::vector<std::string> words = words_of(argc, argv);
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    return go(argc, pointers.data());
  } catch (const usage_error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return bad_usage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "unexpected: {}\n", e.what());
    return failed;
  }
}
