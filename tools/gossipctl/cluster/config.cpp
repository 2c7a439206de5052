#include "config.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "participant_list.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/common/toml_section.hpp"

namespace gossipctl {
namespace {

namespace fs = std::filesystem;
using scoll::gossip::participant_index;
using scoll::kit::toml_mistake;
using scoll::kit::toml_section;

std::int64_t milliseconds_of(scoll::nanoseconds time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

scoll::nanoseconds read_interval(const toml_section& from) {
  const auto least = milliseconds_of(scoll::gossip::least_interval);
  const auto most = milliseconds_of(scoll::gossip::longest_interval);
  return std::chrono::milliseconds(from.get_within<std::int64_t>("interval_ms", least, most, least));
}

scoll::nanoseconds read_rtt(const toml_section& from, scoll::nanoseconds interval) {
  const double ms = from.get_within<double>("rtt_ms", 0.001, 600'000, 1);
  const auto rtt = scoll::nanoseconds(static_cast<std::int64_t>(ms * 1e6));
  if (2 * interval < rtt) {
    from.refuse("rtt_ms", fmt::format("is {}: then 'interval_ms' must be {} or more, half of it", ms,
                                      milliseconds_of(rtt + std::chrono::milliseconds(1)) / 2));
  }
  return rtt;
}

/// Reads one text or an array of texts.
std::string read_list(const toml::table& root, const toml_section& from) {
  const toml::node* const value = root.get("participants");
  if (value == nullptr || value->is_string()) return from.need<std::string>("participants");
  const toml::array* const lines = value->as_array();
  if (lines == nullptr || !lines->is_homogeneous<std::string>())
    from.refuse("participants", "must be a text, or an array of texts");
  std::string all;
  for (const toml::node& line : *lines) all += *line.value<std::string>() + '\n';
  return all;
}

std::vector<scoll::gossip::participant_entry> read_participants(const toml::table& root,
                                                                const toml_section& from,
                                                                const fs::path& folder) {
  list_options options;
  options.default_port =
      static_cast<std::uint16_t>(from.get_within<std::int64_t>("port", 1, 65'535, default_port));
  options.most = scoll::gossip::most_participants;
  options.read_file = [&folder](const std::string& path) { return read_text(folder / path); };
  auto expanded = expand_list(read_list(root, from), options);
  if (const auto* mistake = std::get_if<list_mistake>(&expanded))
    from.refuse("participants", fmt::format("is wrong at {}", to_string(*mistake)));
  auto all = std::get<std::vector<scoll::gossip::participant_entry>>(std::move(expanded));
  if (all.empty()) from.refuse("participants", "names nobody");
  return all;
}

/// Reads the names of the interfaces, one for each rail.
std::vector<std::string> read_devices(const toml::table& root, const toml_section& from,
                                      const scoll::gossip::configuration& shared) {
  const toml::node* const value = root.get("devices");
  if (value == nullptr) return {};
  const toml::array* const names = value->as_array();
  if (names == nullptr || (!names->empty() && !names->is_homogeneous<std::string>()))
    from.refuse("devices", "must be an array of texts");
  std::size_t rails = 0;
  for (participant_index i = 0; i != shared.size(); ++i) rails = std::max(rails, shared.addresses(i).size());
  if (names->size() != rails)
    from.refuse("devices", fmt::format("names {} interfaces, but participants have up to {} addresses",
                                       names->size(), rails));
  std::vector<std::string> all;
  for (const toml::node& name : *names) all.push_back(*name.value<std::string>());
  return all;
}

config read(const toml::table& root, const fs::path& file) {
  const toml_section from(
      root, "gossip",
      {"version", "name", "interval_ms", "rtt_ms", "participants", "port", "seed", "expected_loss",
       "false_verdicts_per_year", "dscp", "devices", "key_file", "directory", "log_level"});
  const fs::path folder = fs::absolute(file).parent_path();
  config c;
  c.file = file;
  const auto version = from.get<std::int64_t>("version", scoll::gossip::protocol_version);
  if (version != scoll::gossip::protocol_version)
    from.refuse("version", fmt::format("is {}: this program speaks version {}", version,
                                       scoll::gossip::protocol_version));
  c.name = from.get<std::string>("name", c.name);
  const auto interval = read_interval(from);
  c.rtt = read_rtt(from, interval);
  c.seed = static_cast<std::uint64_t>(from.get_within<std::int64_t>("seed", 0, INT64_MAX, 0));
  c.expected_loss = from.get_within<double>("expected_loss", 0, 0.5, c.expected_loss);
  c.false_verdicts_per_year =
      from.get_within<double>("false_verdicts_per_year", 1e-9, 1e9, c.false_verdicts_per_year);
  c.dscp = static_cast<std::uint8_t>(from.get_within<std::int64_t>("dscp", 0, 63, default_dscp));
  if (from.has("key_file")) c.key_file = folder / from.need<std::string>("key_file");
  c.directory = from.has("directory") ? folder / from.need<std::string>("directory") : default_directory();
  c.log_level = from.get<std::string>("log_level", c.log_level);
  if (c.log_level != "error" && c.log_level != "warning" && c.log_level != "info" && c.log_level != "debug")
    from.refuse("log_level", "must be error, warning, info or debug");
  auto shared = scoll::gossip::configuration::of_entries(read_participants(root, from, folder), interval);
  if (!shared) from.refuse("participants", fmt::format("is refused: {}", shared.error().text()));
  c.shared = std::move(*shared);
  c.devices = read_devices(root, from, *c.shared);
  return c;
}

}  // namespace

std::optional<std::string> read_text(const fs::path& file) {
  constexpr std::uintmax_t most = std::uintmax_t{16} << 20;
  std::error_code failed;
  if (!fs::is_regular_file(file, failed) || fs::file_size(file, failed) > most || failed) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || !in.is_open()) return std::nullopt;
  return text;
}

fs::path default_directory() {
  if (::geteuid() == 0) return "/var/lib/gossipctl";
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state == '/')
    return fs::path(state) / "gossipctl";
  const char* const home = std::getenv("HOME");
  return fs::path(home != nullptr ? home : "/tmp") / ".local/state/gossipctl";
}

std::variant<config, std::string> read_config(const fs::path& file) {
  const auto text = read_text(file);
  if (!text) return fmt::format("{}: cannot be read; `gossipctl init` writes one", file.string());
  try {
    return read(toml::parse(*text, file.string()), file);
  } catch (const toml::parse_error& e) {
    return fmt::format("{}:{}:{}: {}", file.string(), e.source().begin.line, e.source().begin.column,
                       e.description());
  } catch (const toml_mistake& e) {
    return fmt::format("{}:{}", file.string(), e.what());
  }
}

}  // namespace gossipctl
