#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/error.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"

namespace scoll::detail {

/// The most rows of one answer. An answer that has more to tell says in `next` where the next one begins.
inline constexpr std::size_t most_rows = 256;

/// A command for the control socket, as its words.
struct control_command {
  std::string name;
  std::vector<std::string> arguments;

  /// Splits a line at its blanks.
  static control_command parse(std::string_view line);
};

/// Answers a command that has one answer: all but `events` with `follow`. The text ends with a newline.
std::string answer_to(const control_command& command, node& of, transport::reactor& loop);

/// The number after which `events` begins, and whether it goes on with what comes. Nothing if the command is
/// not `events` or has other arguments.
struct events_question {
  std::uint64_t after = 0;
  bool follow = false;
};
std::optional<events_question> asks_for_events(const control_command& command);

/// One event as a line of JSON.
std::string event_line(const node& of, const node_event& e);
/// An error as a line of JSON.
std::string error_line(const error& why);

}  // namespace scoll::detail
