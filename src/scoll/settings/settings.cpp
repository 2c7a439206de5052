#include "scoll/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/detail/spelling.hpp"
#include "scoll/settings/field.hpp"
#include "scoll/settings/file.hpp"

namespace scoll {
namespace {

using detail::setting_field;
using detail::setting_fields;

constexpr std::string_view prefix = "SCOLL_";
constexpr const char* file_variable = "SCOLL_CONFIG";

std::optional<std::size_t> find(std::string_view name) {
  const auto fields = setting_fields();
  const auto at = std::ranges::find(fields, name, &setting_field::name);
  if (at == fields.end()) return std::nullopt;
  return static_cast<std::size_t>(at - fields.begin());
}

std::string upper(std::string_view text) {
  std::string all;
  for (const char c : text) all += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all;
}

/// Turns "tcp.keep_alive" into SCOLL_TCP_KEEP_ALIVE.
std::string variable_of(std::string_view name) {
  std::string variable(prefix);
  variable += upper(name);
  std::ranges::replace(variable, '.', '_');
  return variable;
}

std::optional<std::size_t> find_variable(std::string_view variable) {
  const auto fields = setting_fields();
  const auto at = std::ranges::find(fields, variable, [](const auto& f) { return variable_of(f.name); });
  if (at == fields.end()) return std::nullopt;
  return static_cast<std::size_t>(at - fields.begin());
}

/// All variables SCOLL_... of this process, with their values.
std::vector<std::pair<std::string_view, std::string_view>> variables() {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view both(*entry);
    const std::size_t equals = both.find('=');
    if (both.starts_with(prefix) && equals != std::string_view::npos)
      found.emplace_back(both.substr(0, equals), both.substr(equals + 1));
  }
  return found;
}

/// The variable of the setting that a misspelt variable may mean; empty if there is none.
std::string nearest_variable(std::string_view variable) {
  std::vector<std::string> all;
  for (const setting_field& f : setting_fields()) all.push_back(variable_of(f.name));
  return detail::nearest_spelling(upper(variable), all);
}

/// The setting that a misspelt name may mean: one that is spelt alike, or whose group was left out; empty if
/// there is none.
std::string nearest_setting(std::string_view name) {
  std::vector<std::string_view> all;
  for (const setting_field& f : setting_fields()) {
    if (f.name.substr(f.name.find('.') + 1) == name) return std::string(f.name);
    all.push_back(f.name);
  }
  return detail::nearest_spelling(name, all);
}

std::string question(const std::string& near) {
  return near.empty() ? near : fmt::format(": did you mean {}?", near);
}

/// The end of a complaint about a value: it says what is missing, where that can be seen.
std::string advice(const setting_field& f, std::string_view value) {
  const bool bare = !value.empty() && value.find_first_not_of("0123456789") == std::string_view::npos;
  return bare && f.takes.starts_with("a time") ? fmt::format("; a unit is missing, as in {}s", value) : "";
}

/// What is wrong with a value that a setting does not take.
std::string why_not(const setting_field& f, std::string_view value) {
  if (f.complain == nullptr)
    return fmt::format("{} is '{}', and takes {}{}", f.name, value, f.takes, advice(f, value));
  return fmt::format("{}: {}", f.name, f.complain(value));
}

/// True if the variable's group is one of ours. Variables of other groups belong to other programs.
bool looks_like_ours(std::string_view variable) {
  return std::ranges::any_of(setting_fields(), [variable](const setting_field& f) {
    return variable.starts_with(variable_of(f.name.substr(0, f.name.find('.') + 1)));
  });
}

/// Checks the options as a node and its reactor would. The program chooses the node's id, so any id will do
/// here.
status validate(const settings::values& all) {
  if (status s = all.reactor.validate(); !s) return s;
  if (status s = all.verbs.validate(); !s) return s;
  node_options somebody = all.node;
  somebody.id = 1;
  return somebody.validate();
}

void take_built_in(settings::values& into, std::size_t at) {
  const setting_field& f = setting_fields()[at];
  [[maybe_unused]] const bool read = f.read(into, f.write(settings::values{}));
  SCOLL_ASSERT(read, "a built-in value must be allowed");
}

}  // namespace

std::string_view to_string(setting_origin origin) noexcept {
  constexpr std::string_view names[] = {"built in", "program", "file", "environment", "code"};
  return names[static_cast<std::size_t>(origin)];
}

std::vector<unknown_variable> unknown_variables() {
  std::vector<unknown_variable> found;
  for (const auto& [name, value] : variables()) {
    if (name != file_variable && !find_variable(name))
      found.push_back({std::string(name), nearest_variable(name)});
  }
  std::ranges::sort(found, {}, &unknown_variable::name);
  return found;
}

settings::settings() : sources_(setting_fields().size()) {}

status settings::load() {
  const char* const path = std::getenv(file_variable);
  return load(path != nullptr ? path : "");
}

status settings::load(const std::string& path) {
  const settings before = *this;
  status outcome;
  if (!path.empty()) outcome = load_file(path);
  if (outcome) outcome = load_environment();
  if (outcome) outcome = check();
  if (!outcome) {
    values_ = before.values_;
    sources_ = before.sources_;
  }
  return outcome;
}

status settings::load_file(const std::string& path) {
  std::vector<change> changes;
  const detail::file_settings found = detail::read_settings_file(path);
  if (!found.complaint.empty()) return refuse(found.code, found.complaint);
  for (const detail::file_setting& f : found.all) {
    const auto at = find(f.name);
    if (!at)
      return refuse(errc::not_found, fmt::format("{}: there is no setting '{}'{}", f.where, f.name,
                                                 question(nearest_setting(f.name))));
    changes.push_back({*at, f.value, f.where});
  }
  return take(changes, setting_origin::file);
}

status settings::load_environment() {
  std::vector<change> changes;
  for (const auto& [name, value] : variables()) {
    if (const auto at = find_variable(name)) {
      changes.push_back({*at, std::string(value), std::string(name)});
    } else if (looks_like_ours(name)) {
      return refuse(errc::not_found,
                    fmt::format("{}: there is no such setting{}", name, question(nearest_variable(name))));
    }
  }
  return take(changes, setting_origin::environment);
}

status settings::suggest(std::string_view name, std::string_view value) {
  return take_one(name, value, setting_origin::program);
}

status settings::set(std::string_view name, std::string_view value) {
  return take_one(name, value, setting_origin::code);
}

status settings::take_one(std::string_view name, std::string_view value, setting_origin origin) {
  const auto at = find(name);
  if (!at) {
    return refuse(errc::not_found,
                  fmt::format("there is no setting '{}'{}", name, question(nearest_setting(name))));
  }
  return take({{*at, std::string(value), {}}}, origin);
}

/// Takes all changes or none of them.
status settings::take(const std::vector<change>& changes, setting_origin origin) {
  values changed = values_;
  for (const change& c : changes) {
    const setting_field& f = setting_fields()[c.at];
    values ignored = values_;
    // A value that is overruled must be allowed all the same.
    values& into = sources_[c.at].origin > origin ? ignored : changed;
    if (!f.read(into, c.value)) {
      return refuse(errc::invalid_argument,
                    fmt::format("{}{}{}", c.where, c.where.empty() ? "" : ": ", why_not(f, c.value)));
    }
  }
  values_ = std::move(changed);
  for (const change& c : changes) {
    if (sources_[c.at].origin <= origin) sources_[c.at] = {origin, c.where};
  }
  complaint_.clear();
  return {};
}

/// Replaces suggestions that do not fit by the built-in values: a program's suggestion must not make the
/// values of people wrong.
void settings::drop_suggestions_that_do_not_fit() {
  bool dropped = true;
  for (status outcome = validate(values_); !outcome && dropped; outcome = validate(values_)) {
    dropped = false;
    for (const std::size_t i : involved_in(outcome.error())) {
      if (sources_[i].origin != setting_origin::program) continue;
      take_built_in(values_, i);
      sources_[i] = {};
      dropped = true;
    }
  }
}

status settings::check() {
  drop_suggestions_that_do_not_fit();
  const status outcome = validate(values_);
  if (outcome) {
    complaint_.clear();
    return {};
  }
  const error& wrong = outcome.error();
  std::string chosen;
  for (const std::size_t i : involved_in(wrong)) {
    const setting_field& f = setting_fields()[i];
    const auto& [origin, where] = sources_[i];
    chosen +=
        fmt::format("{}: {} is '{}'; ", where.empty() ? to_string(origin) : where, f.name, f.write(values_));
  }
  return refuse(wrong.code(), fmt::format("{}this does not fit: {}", chosen, wrong.text()));
}

/// Finds the chosen settings without which the values would not be wrong in the same way.
std::vector<std::size_t> settings::involved_in(const error& wrong) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].origin == setting_origin::built_in) continue;
    values otherwise = values_;
    take_built_in(otherwise, i);
    const status outcome = validate(otherwise);
    if (outcome || outcome.error() != wrong) found.push_back(i);
  }
  return found;
}

status settings::refuse(errc code, std::string complaint) {
  complaint_ = std::move(complaint);
  return make_error(code, "{}", complaint_);
}

std::vector<setting> settings::list() const {
  std::vector<setting> all;
  const values built_in;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const setting_field& f = setting_fields()[i];
    all.push_back({f.name, f.write(values_), f.write(built_in), f.takes, f.about, sources_[i].origin,
                   sources_[i].where});
  }
  return all;
}

}  // namespace scoll
