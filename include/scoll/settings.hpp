#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/node_options.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll {

/// Who has chosen a setting's value, the weakest first: what a later one says stands, in whatever order they
/// are read.
enum class setting_origin : std::uint8_t { built_in, program, file, environment, code };

std::string_view to_string(setting_origin origin) noexcept;

/// One setting as people see it. Valid while its `settings` is and nothing is read into it.
struct setting {
  std::string_view name;   ///< such as "tcp.keep_alive"
  std::string value;       ///< as `settings::set` takes it
  std::string fallback;    ///< what is built in
  std::string_view takes;  ///< what values are allowed, in words
  std::string_view about;
  setting_origin origin = setting_origin::built_in;
  std::string where;  ///< the file and line, or the variable; empty if neither
};

/// A variable SCOLL_... of this process that is no setting: another program's, or a typing error.
struct unknown_variable {
  std::string name;
  std::string near;  ///< the setting's variable that it looks like; empty if there is none
};

/// In the order of their names. `settings::load_environment` does not look at them.
std::vector<unknown_variable> unknown_variables();

/// All that can be chosen without changing a program: of the reactor, of TCP, of a node and of its shipper.
/// Values come from a file (TOML, a table for each group), from the environment (`tcp.keep_alive` is
/// SCOLL_TCP_KEEP_ALIVE) and from code. Whatever is not known or not allowed is refused by name; then nothing
/// of that source has been taken. Whether values fit together, such as a window and the queue that it lies
/// in, can be said of all of them only: `load` does so at its end, and `check` whenever it is asked.
/// Identities (`node.id`, addresses) are no settings.
///
/// ```cpp
/// scoll::settings chosen;
/// if (!chosen.load()) die(chosen.complaint());
/// auto ring = transport::reactor::create(chosen.reactor());
/// ```
class settings {
 public:
  settings();

  /// The file that SCOLL_CONFIG names, if it does, then the environment, then `check`: what a program does at
  /// its start, after it has made its own suggestions. If it fails, nothing has been applied.
  status load();
  /// The same with this file instead; an empty path is none.
  status load(const std::string& path);
  /// Errors: `io_error`, `not_found`, `invalid_argument` with file and line.
  status load_file(const std::string& path);
  /// All variables SCOLL_<GROUP>_<NAME> of this process. One whose group is known and whose name is not is
  /// refused; groups that are not known may be another program's (`unknown_variables`).
  status load_environment();
  /// What the program itself would take where neither file nor environment says anything. `check` drops one
  /// that does not fit with what they say, as if it had not been made. Errors as of `set`.
  status suggest(std::string_view name, std::string_view value);
  /// By the program, whatever others say; as text. Errors: `not_found`, `invalid_argument`.
  status set(std::string_view name, std::string_view value);
  /// Whether reactors, nodes and their links can be made of all this, by their own `validate`. `load` ends
  /// with it; again after a later `set`, or after reading sources one by one. Refused are settings that do
  /// not fit together, by name and origin. Errors as those of the options.
  status check();

  /// Why the latest call has refused, in full: an `error` has room for a line only.
  const std::string& complaint() const noexcept { return complaint_; }

  transport::reactor_options reactor() const { return values_.reactor; }
  transport::tcp_options tcp() const { return values_.tcp; }
  /// With its shipper and its links; the caller fills in who it is.
  node_options node() const { return values_.node; }

  /// In the order of the documentation.
  std::vector<setting> list() const;

  struct values {
    transport::reactor_options reactor;
    transport::tcp_options tcp;
    node_options node;
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
