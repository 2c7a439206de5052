#include "new_config.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <variant>

#include "config.hpp"
#include "tools/common/free_ports.hpp"

namespace gossipctl {
namespace {

namespace fs = std::filesystem;

/// Writes a TOML text in quotes.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

/// Writes each line of the list as one text.
std::string lines_of(const std::string& list) {
  std::string out;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    if (end != at) out += fmt::format("  {},\n", quoted(list.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

}  // namespace

std::string to_toml(const new_config& c) {
  std::string out;
  const auto line = [&out](const std::string& text) { out += text + '\n'; };
  line("# Who takes part in the gossip, and how. Every server has the same file.");
  line(fmt::format("version = {}", scoll::gossip::protocol_version));
  line(fmt::format("name = {}", quoted(c.name)));
  line(fmt::format("interval_ms = {}  # of a cycle; the same everywhere", c.interval_ms));
  line(fmt::format("rtt_ms = {}  # a safe estimate of the network's", c.rtt_ms));
  if (c.port != 0) line(fmt::format("port = {}  # of participants that name none", c.port));
  if (c.seed != 0)
    line(fmt::format("seed = {}  # of random choices; without it they come from entropy", c.seed));
  if (!c.key_file.empty()) line(fmt::format("key_file = {}", quoted(c.key_file)));
  if (!c.directory.empty())
    line(fmt::format("directory = {}  # of control sockets, logs and incarnations", quoted(c.directory)));
  line("participants = [\n" + lines_of(c.participants) + "]");
  return out;
}

std::optional<std::string> local_list(unsigned participants) {
  const auto ports = scoll::kit::find_free_ports(
      participants, [](const auto& address) { return scoll::transport::open_datagram(address).has_value(); });
  if (ports.size() != participants) return std::nullopt;
  std::string list;
  for (const std::uint16_t port : ports) list += fmt::format("127.0.0.1:{}\n", port);
  return list;
}

std::string write_config(const fs::path& file, const new_config& c, bool replace) {
  std::error_code failed;
  if (fs::exists(file, failed) && !replace)
    return fmt::format("{} exists already; --force replaces it", file.string());
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), failed);
  const fs::path made = file.string() + ".new";
  std::ofstream out(made, std::ios::trunc);
  out << to_toml(c);
  if (!out.flush()) return fmt::format("{} cannot be written", made.string());
  const auto checked = read_config(made);
  if (const auto* wrong = std::get_if<std::string>(&checked)) {
    fs::remove(made, failed);
    return fmt::format("this would be no valid configuration: {}", *wrong);
  }
  fs::rename(made, file, failed);
  return failed ? fmt::format("{}: {}", file.string(), failed.message()) : std::string();
}

}  // namespace gossipctl
