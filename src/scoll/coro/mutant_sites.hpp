#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The list of the sites of `SCOLL_MUTANT` in a program. It is empty unless the program is built with them.
namespace scoll::mutants {

/// A string literal as an argument of a template.
template <std::size_t Size>
struct literal {
  consteval literal(const char (&from)[Size]) { std::copy_n(from, Size, text); }
  constexpr std::string_view view() const noexcept { return {text, Size - 1}; }

  char text[Size]{};
};

/// All sites with the same name and the same text. It enters itself in the list before `main` begins.
struct site {
  site(std::string_view its_name, std::string_view its_text, bool& its_switch) noexcept
      : name(its_name), text(its_text), on(its_switch), next(std::exchange(first, this)) {}

  std::string_view name;
  std::string_view text;  ///< what the mutant does; empty at a site that only names it
  bool& on;
  const site* next;

  static inline constinit const site* first = nullptr;
};

/// The switch of a mutant, which all of its sites read.
template <literal Name>
inline constinit bool on = false;

template <literal Name, literal Text>
inline const site entered{Name.view(), Text.view(), on<Name>};

/// The value of a site. The function refers to `entered`, so every object file with the site has its entry.
template <literal Name, literal Text = "">
bool is_on() noexcept {
  static_cast<void>(&entered<Name, Text>);
  return on<Name>;
}

struct mutant {
  std::string_view name;
  std::string_view text;
  bool* on = nullptr;  ///< set it before anything runs, for one mutant at a time
};

/// All mutants of the program, sorted by name. A template that the program does not use has no sites.
inline std::vector<mutant> all() {
  std::map<std::string_view, mutant> found;
  for (const site* s = site::first; s != nullptr; s = s->next) {
    mutant& m = found[s->name];
    m = {s->name, std::max(m.text, s->text), &s->on};
  }
  std::vector<mutant> sorted;
  sorted.reserve(found.size());
  for (const auto& [name, m] : found) sorted.push_back(m);
  return sorted;
}

/// Returns a sentence for each mutant without a text, and for each with more than one.
inline std::vector<std::string> problems() {
  std::vector<std::string> sentences;
  for (const mutant& m : all()) {
    if (m.text.empty())
      sentences.push_back("no site of the mutant " + std::string(m.name) + " says what it does");
    for (const site* s = site::first; s != nullptr; s = s->next) {
      if (s->name == m.name && !s->text.empty() && s->text != m.text)
        sentences.push_back("the mutant " + std::string(m.name) + " has two texts: \"" +
                            std::string(s->text) + "\" and \"" + std::string(m.text) + "\"");
    }
  }
  return sentences;
}

}  // namespace scoll::mutants
