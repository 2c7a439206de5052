#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gossipctl {

/// Describes a mistake in a list of participants. `what` names the entry; `line` and `column`, from 1, say
/// where it is.
struct list_mistake {
  std::string source;  ///< the file, or empty for the list itself
  std::size_t line = 1;
  std::size_t column = 1;
  std::string what;
};
/// "hosts.txt:3:14: ..." or "line 3, column 14: ...".
std::string to_string(const list_mistake& m);

struct list_options {
  std::uint16_t default_port = 0;  ///< for entries without a port; 0: every entry must name one
  std::size_t most = 65'536;       ///< the largest number of participants
  /// Returns the content of a file that the list names, or nothing if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

/// Expands a list of participants into addresses, in the order of the list. Each is spelled in the one way
/// that sockets use ("10.0.0.1:7400", "[fd00::1]:7400").
///
/// Entries are separated by white space or commas; `#` begins a comment. An entry is an address with numbers
/// or ranges in it, `192.168.[1-2].[1-128/2]:7400`: `[1-128/2]` is 1, 3, ... 127 and `[1,4,8-9]` is 1, 4, 8
/// and 9; the last range counts fastest. In IPv6 addresses, which are in brackets of their own when a port
/// follows, ranges are hexadecimal: `[fd00::[1-1f]]:7400`. `@FILE` stands for the entries in a file. All must
/// be different, and of one family.
std::variant<std::vector<std::string>, list_mistake> expand_list(std::string_view text,
                                                                 const list_options& options);

}  // namespace gossipctl
