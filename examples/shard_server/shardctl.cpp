#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "ctl/arguments.hpp"
#include "ctl/conversation.hpp"
#include "ctl/listing.hpp"
#include "ctl/run.hpp"
#include "services/top.hpp"
#include "tools/common/command_line.hpp"

namespace {

using shard::arguments;
namespace ctl = shard::ctl;

/// Describes the commands about groups as such.
template <class Add>
void describe_group_commands(arguments& args, const Add& add) {
  CLI::App* command =
      add("layout", "The slots that objects are sorted into: a group with an entity for each", ctl::layout);
  command->add_option("--slots", args.slots, "How many, 50000 if not given")->check(CLI::Range(1, 1'000'000));
  command->add_flag("--delayed", args.delayed, "Tell the servers with the first question, not before it");
  command->add_flag("--inline", args.inline_only, "Refuse a layout that does not fit a message");

  add("pools", "The pools of the cluster file", ctl::pools);
  command = add("pool", "How much the servers of a pool store", ctl::pool);
  command->add_option("id", args.pool, "The pool's number in the cluster file")->required();

  command = add("maintenance", "Close all servers for writes, or open them again", ctl::maintenance);
  command->add_option("step", args.step, "begin, end, or show what is under way")
      ->check(CLI::IsMember({"begin", "end", "show"}));
  command->add_option("--note", args.text, "Why, for people whose writes are refused");

  command = add("leader", "The server that leads a maintenance: all servers agree on it", ctl::leader);
  command->add_flag("--again", args.again, "Agree anew, although there is a leader");

  command = add("commit", "Move all servers to the next epoch: decided when a quorum has it on its disks",
                ctl::commit);
  command->add_option("--note", args.text, "What the epoch is for, at most 200 bytes");
  add("epoch", "The epoch at which the servers stand", [](auto& a) { return ctl::ask_plain("epoch", a); });

  const auto client_of = [&](CLI::App* of) {
    of->add_option("client", args.client, "The id of the client, as `shardctl clients` shows it")->required();
    of->add_flag("--trace", args.trace, "Also show what happened when, on which server");
  };
  command = add(
      "evict",
      "Refuse a client on all servers, and end what it has under way there: for good, until it is admitted",
      ctl::evict);
  client_of(command);
  command->add_option("--note", args.text, "Why, for people whose calls are refused, at most 64 bytes");
  command = add("admit", "Refuse an evicted client no longer", ctl::admit);
  client_of(command);
  add("clients", "The clients that are evicted, or have uploads under way",
      [](auto& a) { return ctl::ask_plain("clients", a); });

  command = add("revoke", "End the scrubs that run on a server, at once and everywhere", ctl::revoke);
  command->add_option("--code", args.code, "The reason as a number")->check(CLI::Range(0U, 4'294'967'295U));
  command->add_option("--text", args.text, "The reason in words, at most 64 bytes");
}

void describe_commands(CLI::App& app, arguments& args, int& code) {
  const auto add = [&](const char* name, const char* what, auto run) {
    CLI::App* command = app.add_subcommand(name, what);
    command->callback([run, &args, &code] { code = run(args); });
    return command;
  };
  const auto living = [&](CLI::App* command) {
    command->add_flag("--living", args.living, "Ask those alone that are alive");
  };
  add("status", "What one server says of itself", [](auto& a) { return ctl::ask_plain("status", a); });
  add("members", "Who is alive, as one server hears it",
      [](auto& a) { return ctl::ask_plain("members", a); });
  living(add("df", "How many objects and bytes there are", [](auto& a) { return ctl::ask_plain("df", a); }));

  CLI::App* command = add("tree", "The tree that broadcasts take from --node", ctl::tree);
  command->add_option("--form", args.form, "dot: for Graphviz, list: for scripts")
      ->check(CLI::IsMember({"text", "dot", "list"}));
  command->add_flag_callback("--dot", [&args] { args.form = "dot"; }, "The same as --form dot");

  command =
      add("trace", "What happens when, on which server, while all are asked how much they store", ctl::trace);
  command->add_option("--chrome", args.chrome,
                      "Also write it to this file, for Perfetto or chrome://tracing");
  living(command);

  add("plan", "The tree that --node would choose now, by measuring its links, and why",
      [](auto& a) { return ctl::ask_plain("plan", a); });

  command = add("scrub", "Read every object and compare it with its hash", ctl::scrub);
  command->add_option("--pace", args.pace_ms, "Milliseconds per object and server, at least")
      ->check(CLI::Range(0.0, 60'000.0));
  living(command);

  command = add("find", "Names that match: a glob, or a part of a name", ctl::find);
  command->add_option("pattern", args.text)->required();
  living(command);

  command = add("ls", "All names, or those below a folder, one a line, however many they are", ctl::ls);
  command->add_option("folder", args.text);

  command = add("top", "The largest objects", [](auto& a) { return ctl::ask_plain("top", a); });
  command->add_option("-k", args.count, "How many")->check(CLI::Range(std::size_t{1}, shard::top::most));
  living(command);

  command = add("ingest", "Copy the files below a folder, each to its owner", ctl::ingest);
  command->add_option("folder", args.text)->required();
  command->add_option("--max-objects", args.max_objects, "Stop after so many files");
  command->add_option("--max-mib", args.max_mib, "Stop after so many MiB")->check(CLI::Range(1, 1 << 30));

  command = add("install",
                "Copy a file to every server, each in its own folder: to all, or to all but those that the "
                "answer names",
                ctl::install);
  command->add_option("file", args.file, "A file that --node can read, at most 64 GiB")->required();
  command->add_option("name", args.text, "The name that it gets; its own if not given");
  command->add_option(
      "--plan", args.plan,
      "The routes of its pieces: chain, kary:K or knomial:K; else those with the least predicted time");
  living(command);

  describe_group_commands(args, add);

  const auto directly = [&](CLI::App* of) {
    of->add_flag("--direct", args.direct,
                 "As a client of the cluster: call the object's owner, without a server's control socket");
    of->add_option("--client", args.client,
                   "The id of that client, 2^63 or more; drawn at random if not given");
  };
  command = add("put", "Store a file as an object; - is stdin", ctl::put);
  directly(command);
  command->add_option("file", args.file)->required();
  command->add_option("name", args.text, "The object's name; the file's path if not given");

  command = add("get", "Write an object to a file or to stdout", ctl::get);
  directly(command);
  command->add_option("name", args.text)->required();
  command->add_option("out", args.file);

  command = add("where", "Which server owns an object, and in which file", ctl::where);
  command->add_option("name", args.text)->required();

  command = add("stop", "Stop one server (--node) or all", ctl::stop);
  command->add_flag("--all", args.all, "Every server of the cluster");

  command = add("init", "Write a cluster file for servers on this machine, with free ports", ctl::init);
  command->add_option("--nodes", args.made.nodes, "How many servers")->check(CLI::Range(1U, 1024U));
  command->add_option("--dir", args.folder, "Where to write cluster.toml")->required();
  command->add_option("--pools", args.made.pools, "Deal the servers to so many pools")
      ->check(CLI::Range(0U, 1024U));
  command->add_option("--tree", args.made.tree,
                      "Such as knomial:4, kary:2, chain, flat; auto: every root chooses");
  command
      ->add_option("--transport", args.made.transport,
                   "Of links: tcp, verbs (RDMA), or tcp+verbs: messages by TCP and bulk data by RDMA")
      ->check(CLI::IsMember({"tcp", "verbs", "tcp+verbs"}));
  command
      ->add_option("--hosts", args.made.hosts,
                   "Addresses of this machine, which the servers take in turn; 127.0.0.1 if not given")
      ->delimiter(',');
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Talks to a cluster of shard servers.\n"
      "Exit status: 0 all servers executed, 1 some did (and it says who), 2 usage, 3 no answer.");
  arguments args;
  int code = shard::all_executed;
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--cluster", args.cluster, "The cluster file")->envname("SHARD_CLUSTER");
  app.add_option("--node", args.node, "The server to ask; else the first of the file that is there");
  app.add_flag("--json", args.as_json, "One JSON object instead of text");
  app.add_option("--timeout", args.timeout_s,
                 "Seconds for the whole answer; else the cluster file's deadline")
      ->check(CLI::Range(0.001, 604'800.0));
  app.add_option("--progress", args.progress, "Of long commands, on stderr: auto, lines or none")
      ->check(CLI::IsMember({"auto", "lines", "none"}));
  describe_commands(app, args, code);
  try {
    if (const auto ended = scoll::kit::read_command_line(app, argc, argv)) return *ended;
  } catch (const shard::usage_error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return shard::bad_usage;
  } catch (const std::exception& e) {
    fmt::print(stderr, "unexpected: {}\n", e.what());
    return shard::no_answer;
  }
  return code;
}
