#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace scoll::kit {

/// Says what is wrong with a configuration file, and where: "7:12: ...". Readers of files throw and catch it.
struct toml_mistake : std::runtime_error {
  toml_mistake(const toml::source_region& where, const std::string& what)
      : std::runtime_error(fmt::format("{}:{}: {}", where.begin.line, where.begin.column, what)) {}
};

/// A table of a file in which every key is known. It knows its own name, for error messages. For programs
/// only. All functions throw `toml_mistake`.
class toml_section {
 public:
  toml_section(const toml::table& table, std::string name, std::initializer_list<std::string_view> known)
      : table_(table), name_(std::move(name)) {
    for (const auto& [key, value] : table) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end())
        throw toml_mistake(key.source(), fmt::format("{}: there is no key '{}'", name_, key.str()));
    }
  }

  bool has(std::string_view key) const { return table_.get(key) != nullptr; }

  template <class T>
  T need(std::string_view key) const {
    const toml::node* value = table_.get(key);
    if (value == nullptr) throw toml_mistake(table_.source(), fmt::format("{}: '{}' is missing", name_, key));
    return as<T>(*value, key);
  }
  template <class T>
  T get(std::string_view key, T otherwise) const {
    const toml::node* value = table_.get(key);
    return value == nullptr ? std::move(otherwise) : as<T>(*value, key);
  }
  /// Returns a number within limits. A whole number is also accepted as a fraction.
  template <class T>
  T get_within(std::string_view key, T least, T most, T otherwise) const {
    const T value = get<T>(key, otherwise);
    if (!(value >= least && value <= most)) refuse(key, fmt::format("must be {} to {}", least, most));
    return value;
  }
  [[noreturn]] void refuse(std::string_view key, std::string_view why) const {
    const toml::node* value = table_.get(key);
    throw toml_mistake(value == nullptr ? table_.source() : value->source(),
                       fmt::format("{}: '{}' {}", name_, key, why));
  }

 private:
  template <class T>
  T as(const toml::node& value, std::string_view key) const {
    const auto found = read<T>(value);
    if (!found) refuse(key, expected<T>());
    return *found;
  }
  template <class T>
  static toml::optional<T> read(const toml::node& value) {
    if constexpr (std::is_same_v<T, double>) {
      return value.is_number() ? value.value<double>() : toml::optional<double>();
    } else {
      return value.value_exact<T>();
    }
  }
  template <class T>
  static constexpr std::string_view expected() {
    if constexpr (std::is_same_v<T, std::string>) return "must be a text in quotes";
    if constexpr (std::is_same_v<T, bool>) return "must be true or false";
    if constexpr (std::is_same_v<T, double>) return "must be a number";
    return "must be a whole number";
  }

  const toml::table& table_;
  std::string name_;
};

}  // namespace scoll::kit
