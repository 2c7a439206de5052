#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gossip/configuration.hpp"

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
  std::uint16_t default_port = 0;  ///< for addresses without a port; 0: every address must name one
  std::size_t most = 65'536;       ///< the largest number of participants
  /// Returns the content of a file that the list names, or nothing if it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read_file;
};

/// Expands a list of participants, in the order of the list. Each address is spelled in the one way that
/// sockets use ("10.0.0.1:7400", "[fd00::1]:7400").
///
/// Entries are separated by white space or commas; `#` begins a comment. An entry is an address, or an id
/// with the addresses of one participant by rail, `7=10.0.0.7+10.1.0.7`. Each part may have ranges
/// (`expand_ranges`). The parts of an entry count in step: `[1-9]=10.0.0.[1-9]+10.1.0.[1-9]` are nine
/// participants. `@FILE` stands for the entries in a file. All addresses must be different, and those of a
/// rail of one family.
std::variant<std::vector<scoll::gossip::participant_entry>, list_mistake> expand_list(
    std::string_view text, const list_options& options);

}  // namespace gossipctl
