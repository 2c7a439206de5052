#include "tools/scoll-sim/plan/script.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "transport/wire/members.hpp"

namespace scoll::sim {
namespace {

template <class T>
concept duration = requires { typename T::period; };

// ---- one operand

template <class T>
std::string word_of(const T& value) {
  if constexpr (std::is_same_v<T, number_set>) {
    return value.to_text();
  } else if constexpr (duration<T>) {
    return std::to_string(value.count());
  } else {
    return std::to_string(static_cast<std::uint64_t>(value));
  }
}

/// The greatest value that an operand of type T may have.
template <class T>
constexpr std::uint64_t greatest() {
  if constexpr (std::is_same_v<T, bool>) {
    return 1;
  } else if constexpr (std::is_same_v<T, service_kind>) {
    return static_cast<std::uint64_t>(service_kind::streaming);
  } else if constexpr (std::is_same_v<T, stray_kind>) {
    return static_cast<std::uint64_t>(stray_kind::orderer);
  } else if constexpr (std::is_same_v<T, outsider_manner>) {
    return outsider_manners - 1;
  } else if constexpr (std::is_enum_v<T>) {
    return 2;  // each of the other kinds has three values
  } else if constexpr (duration<T>) {
    return std::uint64_t{1} << 50;
  } else {
    return std::numeric_limits<T>::max();
  }
}

/// Returns false if the word is no such operand.
template <class T>
bool read_word(std::string_view word, T& into) {
  if constexpr (std::is_same_v<T, number_set>) {
    const auto set = number_set::from_text(word);
    if (set) into = *set;
    return set.has_value();
  } else {
    std::uint64_t value = 0;
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (failed != std::errc() || end != word.data() + word.size() || value > greatest<T>()) return false;
    if constexpr (duration<T>) {
      into = T(static_cast<typename T::rep>(value));
    } else {
      into = static_cast<T>(value);
    }
    return true;
  }
}

template <class T>
void add_numbers(const T& value, std::vector<std::uint64_t>& to) {
  if constexpr (std::is_same_v<T, number_set>) {
    to.insert(to.end(), value.words().begin(), value.words().end());
  } else if constexpr (duration<T>) {
    to.push_back(static_cast<std::uint64_t>(value.count()));
  } else {
    to.push_back(static_cast<std::uint64_t>(value));
  }
}

// ---- one event

template <class Event>
std::optional<happening> read_operands(std::istringstream& words) {
  Event e;
  bool good = true;
  const auto read = [&](auto& operand) {
    std::string word;
    if (good && words >> word) good = read_word(word, operand);
  };
  wire::detail::visit_members(e, [&](auto&... operands) { (read(operands), ...); });
  std::string more;
  if (!good || words >> more) return std::nullopt;
  return e;
}

using reader = std::optional<happening> (*)(std::istringstream&);

template <std::size_t... I>
reader reader_of(std::string_view name, std::index_sequence<I...>) {
  reader found = nullptr;
  ((std::variant_alternative_t<I, happening>::name == name
        ? void(found = &read_operands<std::variant_alternative_t<I, happening>>)
        : void()),
   ...);
  return found;
}

/// Reads "<ns> <kind> <operands>".
std::optional<plan_event> read_event(const std::string& line) {
  std::istringstream words(line);
  std::int64_t at = 0;
  std::string name;
  words >> at >> name;
  const reader read = reader_of(name, std::make_index_sequence<std::variant_size_v<happening>>());
  if (!words || at < 0 || read == nullptr) return std::nullopt;
  const auto what = read(words);
  if (!what) return std::nullopt;
  return plan_event{nanoseconds(at), *what};
}

/// Reads "seed <number>" or "hosts <number>".
bool read_setting(const std::string& line, plan& into) {
  std::istringstream words(line);
  std::string what;
  words >> what;
  if (what == "seed") words >> into.seed;
  if (what == "hosts") words >> into.hosts;
  return !words.fail() && into.hosts >= 1 && into.hosts <= most_hosts;
}

}  // namespace

std::string to_text(const plan& p) {
  std::ostringstream out;
  out << "seed " << p.seed << "\nhosts " << p.hosts << "\n";
  for (const plan_event& e : p.events) {
    std::visit(
        [&](const auto& what) {
          out << e.at.count() << ' ' << what.name;
          wire::detail::visit_members(
              what, [&](const auto&... operands) { ((out << ' ' << word_of(operands)), ...); });
        },
        e.what);
    out << '\n';
  }
  return out.str();
}

plan from_text(std::string_view text) {
  plan p;
  std::istringstream in{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    bool good = false;
    if (line.starts_with("seed ") || line.starts_with("hosts ")) {
      good = read_setting(line, p);
    } else if (auto e = read_event(line)) {
      p.events.push_back(*e);
      good = true;
    }
    if (!good) throw std::runtime_error("line " + std::to_string(number) + " is no event: " + line);
  }
  return p;
}

std::vector<std::uint64_t> numbers_of(const happening& e) {
  std::vector<std::uint64_t> numbers;
  std::visit(
      [&](const auto& what) {
        wire::detail::visit_members(what,
                                    [&](const auto&... operands) { (add_numbers(operands, numbers), ...); });
      },
      e);
  return numbers;
}

}  // namespace scoll::sim
