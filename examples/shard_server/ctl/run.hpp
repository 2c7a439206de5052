#pragma once

#include <string>

#include "arguments.hpp"

/// The commands of shardctl. Each returns the exit status. They throw `usage_error`; every other failure is
/// described by the answer that they print.
namespace shard::ctl {

/// Runs a command that takes only the common options: "status", "df", "top".
int ask_plain(const std::string& name, const arguments& args);
int scrub(const arguments& args);
int find(const arguments& args);
int where(const arguments& args);
int ingest(const arguments& args);
int install(const arguments& args);
int put(const arguments& args);
int get(const arguments& args);
int tree(const arguments& args);
/// Shows the course of a question to all servers, and writes it for a trace viewer if there is a file for that.
int trace(const arguments& args);
/// Asks one server, or all at once, to stop, and waits until their processes have closed everything.
int stop(const arguments& args);
int init(const arguments& args);

int layout(const arguments& args);
/// Shows the pools of the cluster file, without asking a server.
int pools(const arguments& args);
/// Asks a pool. Without --node, the first of its own servers that is there gets the question.
int pool(const arguments& args);
int maintenance(const arguments& args);
int leader(const arguments& args);
int commit(const arguments& args);
int evict(const arguments& args);
int admit(const arguments& args);
int revoke(const arguments& args);

}  // namespace shard::ctl
