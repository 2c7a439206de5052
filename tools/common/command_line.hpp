#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "scoll/detail/spelling.hpp"

namespace scoll::kit {

namespace detail {

inline std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands({})) names.push_back(each->get_name());
  return names;
}

/// Returns the options of a command and of its parent commands, as they are written.
inline std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  return names;
}

/// Describes the first superfluous word of the command line; empty if there is none.
inline std::string complaint_about_word(const CLI::App& app) {
  const std::vector<std::string> words = app.remaining(true);
  if (words.empty()) return {};
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const bool is_option = words.front().starts_with('-');
  const std::string word = words.front().substr(0, is_option ? words.front().find('=') : std::string::npos);
  const bool is_command =
      !is_option && command->get_require_subcommand_max() != 0 && !commands_of(*command).empty();
  const std::string near =
      scoll::detail::nearest_spelling(word, is_option ? options_of(*command) : commands_of(*command));
  const char* const kind = is_option ? "option" : is_command ? "command" : nullptr;
  if (kind == nullptr) return fmt::format("'{}' is one word too many", word);
  return fmt::format("there is no {} '{}'{}", kind, word,
                     near.empty() ? "" : fmt::format(": did you mean {}?", near));
}

}  // namespace detail

/// The exit status of a program whose command line has a mistake.
inline constexpr int bad_command_line = 2;

/// Reads the command line. If the program must end now, returns its exit status: 0 after help or the version
/// was requested, `bad_command_line` after a mistake. The message on stderr names the mistake and suggests a
/// similar word.
inline std::optional<int> read_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    const bool about_a_word = dynamic_cast<const CLI::RequiredError*>(&e) != nullptr ||
                              dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr;
    const std::string word = about_a_word ? detail::complaint_about_word(app) : std::string();
    fmt::print(stderr, "{}: {}\nRun with --help for more information.\n",
               std::filesystem::path(argv[0]).filename().string(), word.empty() ? e.what() : word);
    return bad_command_line;
  }
}

}  // namespace scoll::kit
