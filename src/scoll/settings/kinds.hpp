#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/settings.hpp"
#include "scoll/settings/text_kinds.hpp"

/// The kinds of settings. Each reads a value from a text, of which it refuses what is not allowed, and writes
/// it so that it can be read again.
namespace scoll::detail::setting_kinds {

inline constexpr std::int64_t ns_per_second = 1'000'000'000;
inline constexpr std::int64_t hour = 3600 * ns_per_second;

struct unit {
  std::string_view name;
  std::int64_t factor;
};
inline constexpr std::array time_units{unit{"ns", 1}, unit{"us", 1000}, unit{"ms", 1'000'000},
                                       unit{"s", ns_per_second}};
inline constexpr std::array byte_units{unit{"", 1}, unit{"KiB", 1 << 10}, unit{"MiB", 1 << 20},
                                       unit{"GiB", 1 << 30}};

/// Reads a whole number and one of the units. Returns nothing if the amount does not fit.
template <std::size_t Count>
std::optional<std::int64_t> read_amount(std::string_view text, const std::array<unit, Count>& units) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || number < 0) return std::nullopt;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  std::int64_t amount = 0;
  for (const unit& u : units) {
    if (rest == u.name && !__builtin_mul_overflow(number, u.factor, &amount)) return amount;
  }
  return std::nullopt;
}

/// Writes the amount in the largest unit of which it is a whole number.
template <std::size_t Count>
std::string write_amount(std::int64_t amount, const std::array<unit, Count>& units) {
  const unit* best = units.data();
  for (const unit& u : units) {
    if (amount != 0 && amount % u.factor == 0) best = &u;
  }
  return fmt::format("{}{}", amount / best->factor, best->name);
}

/// One kind of setting: `read` and `write` for numbers between bounds.
template <auto Least, auto Most, bool PowerOfTwo = false>
struct number {
  template <class T>
  static bool read(T& into, std::string_view text) {
    T parsed{};
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (failed != std::errc() || end != text.data() + text.size()) return false;
    if (std::cmp_less(parsed, Least) || std::cmp_greater(parsed, Most)) return false;
    if constexpr (PowerOfTwo) {
      if (!std::has_single_bit(parsed)) return false;
    }
    into = parsed;
    return true;
  }
  template <class T>
  static std::string write(const T& value) {
    return fmt::format("{}", value);
  }
};

template <std::int64_t Least, std::int64_t Most>
struct amount_of_bytes {
  template <class T>
  static bool read(T& into, std::string_view text) {
    const auto parsed = read_amount(text, byte_units);
    if (!parsed || *parsed < Least || *parsed > Most) return false;
    into = static_cast<T>(*parsed);
    return true;
  }
  template <class T>
  static std::string write(const T& value) {
    return write_amount(static_cast<std::int64_t>(value), byte_units);
  }
};

template <std::int64_t Least, std::int64_t Most>
struct duration {
  static bool read(nanoseconds& into, std::string_view text) {
    const auto parsed = text == "0" ? std::optional<std::int64_t>(0) : read_amount(text, time_units);
    if (!parsed || *parsed < Least || *parsed > Most) return false;
    into = nanoseconds(*parsed);
    return true;
  }
  static std::string write(const nanoseconds& value) { return write_amount(value.count(), time_units); }
};

struct truth {
  static bool read(bool& into, std::string_view text) {
    if (text != "true" && text != "false") return false;
    into = text == "true";
    return true;
  }
  static std::string write(bool value) { return value ? "true" : "false"; }
};

struct mode_of_security {
  static constexpr std::array modes{transport::security_mode::none, transport::security_mode::psk,
                                    transport::security_mode::tls};
  static bool read(transport::security_mode& into, std::string_view text) {
    const auto named =
        std::ranges::find(modes, text, [](transport::security_mode each) { return to_string(each); });
    if (named == modes.end()) return false;
    into = *named;
    return true;
  }
  static std::string write(transport::security_mode value) { return std::string(to_string(value)); }
};

struct trust_of_fabric {
  static bool read(transport::fabric_trust& into, std::string_view text) {
    const bool trusted = text == to_string(transport::fabric_trust::trusted);
    if (!trusted && text != to_string(transport::fabric_trust::refused)) return false;
    into = trusted ? transport::fabric_trust::trusted : transport::fabric_trust::refused;
    return true;
  }
  static std::string write(transport::fabric_trust value) { return std::string(to_string(value)); }
};

/// A level of the log, or no log.
struct level {
  static constexpr std::array levels{log_level::error, log_level::warning, log_level::info, log_level::debug};
  static bool read(std::optional<log_level>& into, std::string_view text) {
    const auto named = std::ranges::find(levels, text, [](log_level each) { return to_string(each); });
    if (named == levels.end() && text != "off") return false;
    into = named == levels.end() ? std::optional<log_level>() : *named;
    return true;
  }
  static std::string write(const std::optional<log_level>& value) {
    return value ? std::string(to_string(*value)) : "off";
  }
};

struct tree {
  static bool read(tree_spec& into, std::string_view text) {
    const auto parsed = parse_tree(text);
    if (parsed) into = *parsed;
    return parsed.has_value();
  }
  static std::string write(const tree_spec& value) { return to_string(value); }
};

/// A time, or none.
struct limit {
  static bool read(time_limit& into, std::string_view text) {
    nanoseconds parsed{0};
    if (!duration<0, hour>::read(parsed, text)) return false;
    into = parsed.count() == 0 ? time_limit() : time_limit(parsed);
    return true;
  }
  static std::string write(const time_limit& value) {
    return duration<0, hour>::write(value.unlimited() ? nanoseconds(0) : value.left(time_point()));
  }
};

struct about_the_dead {
  static bool read(dead_members& into, std::string_view text) {
    if (text != "refuse" && text != "try_others") return false;
    into = text == "refuse" ? dead_members::refuse : dead_members::try_others;
    return true;
  }
  static std::string write(dead_members value) {
    return value == dead_members::refuse ? "refuse" : "try_others";
  }
};

struct backend {
  static bool read(transport::reactor_backend& into, std::string_view text) {
    const auto parsed = transport::parse_backend(text);
    if (parsed) into = *parsed;
    return parsed.has_value();
  }
  static std::string write(transport::reactor_backend value) { return std::string(to_string(value)); }
};

struct optional_tree {
  static bool read(std::optional<tree_spec>& into, std::string_view text) {
    const auto parsed = parse_tree(text);
    if (parsed || text.empty()) into = parsed;
    return parsed || text.empty();
  }
  static std::string write(const std::optional<tree_spec>& value) { return value ? to_string(*value) : ""; }
};

struct optional_bulk_plan {
  static bool read(std::optional<bulk_plan>& into, std::string_view text) {
    const auto parsed = parse_bulk_plan(text);
    if (parsed || text.empty()) into = parsed;
    return parsed || text.empty();
  }
  static std::string write(const std::optional<bulk_plan>& value) { return value ? to_string(*value) : ""; }
};

struct list_of_rights {
  static bool read(call_rights& into, std::string_view text) {
    auto parsed = call_rights::parse(text);
    if (parsed) into = *std::move(parsed);
    return parsed.has_value();
  }
  static std::string write(const call_rights& value) { return to_string(value); }
  static std::string complain(std::string_view text) {
    const auto parsed = call_rights::parse(text);
    return parsed ? std::string() : std::string(parsed.error().text());
  }
};

struct list_of_rails {
  static bool read(std::vector<rail_entry>& into, std::string_view text) {
    rail_list parsed = parse_rails(text);
    if (parsed.complaint.empty()) into = std::move(parsed.rails);
    return parsed.complaint.empty();
  }
  static std::string write(const std::vector<rail_entry>& value) { return to_string(value); }
  static std::string complain(std::string_view text) { return parse_rails(text).complaint; }
};

}  // namespace scoll::detail::setting_kinds
