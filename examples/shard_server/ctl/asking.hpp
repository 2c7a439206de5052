#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "../cluster/cluster_file.hpp"
#include "arguments.hpp"
#include "conversation.hpp"

/// The steps that the commands of shardctl share.
namespace shard::ctl {

/// Reads the cluster file. Throws `usage_error`.
cluster_config read_config(const arguments& args);
progress_style progress_of(const arguments& args);
/// The longest silence expected from a server: its own limit, plus the time it needs to find out which
/// members are missing.
std::chrono::milliseconds silence_of(const nlohmann::json& command, const cluster_config& config);
/// A command with these fields and the options that all commands have.
nlohmann::json command_of(const std::string& name, const arguments& args, const nlohmann::json& fields = {});

/// Says that no server can be asked, and returns the exit status for it.
int unreachable();
/// Prints an answer in the form that was asked for, and returns the exit status.
int show(const std::optional<nlohmann::json>& answer, const arguments& args);
/// Sends a command to the server that the arguments name, and shows the answer. If the server was asked and has
/// not answered, this shows a status that says so: `undecided` for a commit, else `connection_lost`.
int ask(const arguments& args, const nlohmann::json& command);

}  // namespace shard::ctl
