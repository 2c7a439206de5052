#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/log.hpp"
#include "scoll/node_options.hpp"
#include "scoll/rail_entry.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"
#include "transport/verbs/verbs_options.hpp"

namespace scoll {

/// The source of a setting's value, in ascending precedence. A later source overrules an earlier one, in
/// whatever order they are read.
enum class setting_origin : std::uint8_t { built_in, program, file, environment, code };

std::string_view to_string(setting_origin origin) noexcept;

/// One setting, described for people. It stays valid as long as its `settings` exists and reads nothing.
struct setting {
  std::string_view name;   ///< a name such as "tcp.keep_alive"
  std::string value;       ///< in the form that `settings::set` takes
  std::string fallback;    ///< the built-in value
  std::string_view takes;  ///< the allowed values, in words
  std::string_view about;
  setting_origin origin = setting_origin::built_in;
  std::string where;  ///< the file and line, or the variable; empty for other sources
};

/// A variable SCOLL_... of this process that names no setting: it belongs to another program, or is a typing
/// error.
struct unknown_variable {
  std::string name;
  std::string near;  ///< the variable of a setting that it resembles; empty if there is none
};

/// Lists unknown variables by name. `settings::load_environment` ignores them.
std::vector<unknown_variable> unknown_variables();

/// Everything that can be chosen without changing a program: settings of the reactor, of TCP and RDMA, of a
/// node and of its shipper. Values come from a file (TOML, a table for each group), from the environment
/// (`tcp.keep_alive` is SCOLL_TCP_KEEP_ALIVE) and from code. A name that is unknown or a value that is not
/// allowed is refused, and then nothing of that source is applied. Some values must fit together, such as a
/// window and the queue that holds it. Only the whole set can be checked for that: `load` does so at its end,
/// and `check` on demand. The identity of a node (`node.id`) is not a setting.
///
/// ```cpp
/// scoll::settings chosen;
/// if (!chosen.load()) die(chosen.complaint());
/// auto ring = transport::reactor::create(chosen.reactor());
/// ```
class settings {
 public:
  settings();

  /// Reads the file that SCOLL_CONFIG names, if any, then the environment, then calls `check`. A program
  /// calls it at its start, after it has made its own suggestions. If it fails, nothing has been applied.
  status load();
  /// Like `load()`, with the file at `path` instead; an empty path stands for no file.
  status load(const std::string& path);
  /// Reads a file. Errors: `io_error`, `not_found`, `invalid_argument` (with file and line).
  status load_file(const std::string& path);
  /// Reads all variables SCOLL_<GROUP>_<NAME> of this process. It refuses a variable whose group is known and
  /// whose name is not; variables of unknown groups may belong to another program (`unknown_variables`).
  status load_environment();
  /// Proposes a value that applies where neither file nor environment sets one. `check` drops a suggestion
  /// that does not fit with their values, as if it had not been made. Errors are those of `set`.
  status suggest(std::string_view name, std::string_view value);
  /// Sets a value, given as text, that overrules all other sources. Errors: `not_found`, `invalid_argument`.
  status set(std::string_view name, std::string_view value);
  /// Checks that reactors, nodes and their links can be made of all settings, with their own `validate`.
  /// `load` ends with it; call it again after a later `set`, or after reading sources one by one. It refuses
  /// settings that do not fit together, and names them with their sources. Errors are those of the options.
  status check();

  /// The full reason why the latest call failed; an `error` only has room for one line.
  const std::string& complaint() const noexcept { return complaint_; }

  transport::reactor_options reactor() const { return values_.reactor; }
  transport::tcp_options tcp() const { return values_.tcp; }
  /// How rails by RDMA use their devices. `use_ibverbs` (library `scoll::verbs`) has the devices themselves.
  transport::verbs_options verbs() const { return values_.verbs; }
  /// The rails of a node; empty: one rail, which listens where `node_options::listen` says.
  std::vector<rail_entry> rails() const { return values_.rails; }
  /// The options of a node, its shipper and its links. The caller fills in the node's identity.
  node_options node() const { return values_.node; }

  /// The least important lines of the log of a node that a program writes; nothing: none.
  std::optional<scoll::log_level> log_level() const { return values_.log_level; }

  /// All settings, in the order of the documentation.
  std::vector<setting> list() const;

  struct values {
    transport::reactor_options reactor;
    transport::tcp_options tcp;
    transport::verbs_options verbs;
    node_options node;
    std::vector<rail_entry> rails;
    std::optional<scoll::log_level> log_level = scoll::log_level::info;
  };

 private:
  struct source {
    setting_origin origin = setting_origin::built_in;
    std::string where;
  };
  struct change {
    std::size_t at;
    std::string value;
    std::string where;
  };

  status take_one(std::string_view name, std::string_view value, setting_origin origin);
  status take(const std::vector<change>& changes, setting_origin origin);
  status refuse(errc code, std::string complaint);
  void drop_suggestions_that_do_not_fit();
  std::vector<std::size_t> involved_in(const error& wrong) const;

  values values_;
  std::vector<source> sources_;
  std::string complaint_;
};

}  // namespace scoll
