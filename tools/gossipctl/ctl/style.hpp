#pragma once

#include <string>
#include <string_view>

namespace gossipctl {

/// The look of text: plain, or with colours for terminals.
struct style {
  bool colours = false;

  /// Uses colours if stdout is a terminal, NO_COLOR is not set (or empty) and TERM is not "dumb".
  static style of_stdout();

  std::string good(std::string_view text) const { return wrapped(text, "\x1b[32m"); }
  std::string bad(std::string_view text) const { return wrapped(text, "\x1b[1;31m"); }
  std::string doubtful(std::string_view text) const { return wrapped(text, "\x1b[33m"); }
  std::string strong(std::string_view text) const { return wrapped(text, "\x1b[1m"); }
  std::string faint(std::string_view text) const { return wrapped(text, "\x1b[2m"); }

 private:
  std::string wrapped(std::string_view text, std::string_view code) const {
    if (!colours) return std::string(text);
    return std::string(code) + std::string(text) + "\x1b[0m";
  }
};

}  // namespace gossipctl
