#include <fmt/format.h>
#include <sys/utsname.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "devices/devices.hpp"
#include "node/command.hpp"
#include "scoll/settings.hpp"
#include "scoll/version.hpp"
#include "tools/common/command_line.hpp"

namespace {

using nlohmann::ordered_json;

enum exit_code { all_well = 0, failed = 1, refused = 2 };

struct request {
  std::string file;
  std::vector<std::string> assignments;
  bool json = false;
  bool explain = false;
  bool devices = false;
};

/// Lists the features of the backend by name.
std::vector<std::pair<const char*, bool>> flags_of(const scoll::transport::reactor_features& f) {
  return {
      {"defer_taskrun", f.defer_taskrun},          {"single_issuer", f.single_issuer},
      {"multishot_receive", f.multishot_receive},  {"multishot_receive_message", f.multishot_receive_message},
      {"multishot_accept", f.multishot_accept},    {"provided_buffer_ring", f.provided_buffer_ring},
      {"registered_ring_fd", f.registered_ring_fd}};
}

std::string kernel_release() {
  utsname about{};
  return uname(&about) == 0 ? about.release : "unknown";
}

/// Says for each backend that it can run here, or why not.
ordered_json backends_json(scoll::transport::reactor_options options) {
  ordered_json all;
  for (const auto backend :
       {scoll::transport::reactor_backend::io_uring, scoll::transport::reactor_backend::poll}) {
    options.backend = backend;
    const auto made = scoll::transport::reactor::create(options);
    all[to_string(backend)] = made ? "can run here" : std::string(made.error().text());
  }
  return all;
}

ordered_json backend_json(const scoll::settings& chosen) {
  auto options = chosen.reactor();
  options.announce = false;  // this program prints it itself
  const auto made = scoll::transport::reactor::create(options);
  ordered_json backends = backends_json(options);
  if (!made)
    return {{"works", false}, {"why", std::string(made.error().text())}, {"backends", std::move(backends)}};
  const auto& features = (*made)->features();
  ordered_json flags;
  for (const auto& [name, has] : flags_of(features)) flags[name] = has;
  return {{"works", true},
          {"name", features.backend},
          {"backends", std::move(backends)},
          {"features", flags},
          {"notes", features.notes}};
}

ordered_json settings_json(const scoll::settings& chosen) {
  auto all = ordered_json::array();
  for (const scoll::setting& s : chosen.list()) {
    all.push_back({{"name", s.name},
                   {"value", s.value},
                   {"origin", scoll::to_string(s.origin)},
                   {"where", s.where},
                   {"built_in", s.fallback},
                   {"takes", s.takes},
                   {"about", s.about}});
  }
  return all;
}

ordered_json unknown_variables_json() {
  auto all = ordered_json::array();
  for (const auto& [name, near] : scoll::unknown_variables()) all.push_back({{"name", name}, {"near", near}});
  return all;
}

void print_backend(const ordered_json& backend) {
  if (backend["works"]) {
    fmt::print("backend   {}\n", backend["name"].get<std::string>());
  } else {
    fmt::print("backend   none: {}\n", backend["why"].get<std::string>());
  }
  for (const auto& [name, state] : backend["backends"].items())
    fmt::print("  {:26} {}\n", name, state.get<std::string>());
  if (!backend["works"]) return;
  for (const auto& [name, has] : backend["features"].items())
    fmt::print("  {:26} {}\n", name, has.get<bool>() ? "yes" : "no");
  if (const auto notes = backend["notes"].get<std::string>(); !notes.empty()) fmt::print("  {}\n", notes);
}

void print_settings(const scoll::settings& chosen, bool explain) {
  for (const scoll::setting& s : chosen.list()) {
    std::string origin(scoll::to_string(s.origin));
    if (!s.where.empty()) origin += ", " + s.where;
    fmt::print("{:30} {:>12}  {}\n", s.name, s.value.empty() ? "-" : s.value, origin);
    if (explain)
      fmt::print("    {}\n    takes {}; built in: {}\n", s.about, s.takes,
                 s.fallback.empty() ? "-" : s.fallback);
  }
}

/// Other programs may use the prefix as well, so unknown variables are not errors yet.
void print_unknown_variables() {
  for (const auto& [name, near] : scoll::unknown_variables())
    fmt::print("not a setting: {}{}\n", name, near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
}

scoll::status choose(scoll::settings& chosen, const request& r) {
  for (const std::string& a : r.assignments) {
    const auto equals = a.find('=');
    const std::string value = equals == std::string::npos ? "" : a.substr(equals + 1);
    if (scoll::status s = chosen.set(a.substr(0, equals), value); !s) return s;
  }
  return r.file.empty() ? chosen.load() : chosen.load(r.file);
}

int run(const request& r) {
  scoll::settings chosen;
  if (!choose(chosen, r)) {
    fmt::print(stderr, "{}\n", chosen.complaint());
    return refused;
  }
  if (r.devices) return info::print_devices(chosen, r.json);
  const ordered_json backend = backend_json(chosen);
  if (r.json) {
    const ordered_json all{{"version", scoll::version},
                           {"kernel", kernel_release()},
                           {"backend", backend},
                           {"settings", settings_json(chosen)},
                           {"unknown_variables", unknown_variables_json()}};
    fmt::print("{}\n", all.dump(2));
  } else {
    fmt::print("scoll    {}\nkernel   {}\n", scoll::version, kernel_release());
    print_backend(backend);
    fmt::print("\n");
    print_settings(chosen, r.explain);
    print_unknown_variables();
  }
  return backend["works"] ? all_well : failed;
}

/// A node and what is asked of it belong together. Returns what is missing; empty if nothing is.
std::string missing_part(const info::node_request& r) {
  if (r.socket.empty() == r.command.empty()) return {};
  if (r.socket.empty())
    return fmt::format("{} is asked of a running node: name its control socket with --node", r.command);
  return "what is asked of the node? It answers peers, peer, rails, explain, groups, operations, calls, "
         "memory, metrics, events";
}

int run(const request& r, const info::node_request& of_node) {
  if (r.devices && !of_node.socket.empty()) {
    fmt::print(stderr, "scoll-info: devices are those of this machine, and not asked of a node\n");
    return refused;
  }
  if (const std::string missing = missing_part(of_node); !missing.empty()) {
    fmt::print(stderr, "scoll-info: {}\n", missing);
    return refused;
  }
  return of_node.command.empty() ? run(r) : info::ask_node(of_node, r.json);
}

/// Returns `code` if all output has been written.
int finish(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "scoll-info: the output cannot be written: %s\n", std::strerror(errno));
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app(
        "What this scoll is, what the kernel gives it, and every setting with who has chosen it.\n"
        "With --node and a command, what a running node says of itself.\n"
        "1 is returned if no backend works here, no device can be used, the node does not answer or the "
        "output "
        "cannot be written, "
        "2 if a setting or an argument is refused.");
    request r;
    info::node_request of_node;
    app.set_version_flag("--version", std::string(scoll::version));
    app.add_option("--config", r.file,
                   "A file of settings (TOML); otherwise the one that SCOLL_CONFIG names");
    app.add_option("--set", r.assignments, "NAME=VALUE, as a program would set it; several are possible");
    app.add_flag("--json", r.json, "For programs");
    app.add_flag("--explain", r.explain, "What every setting is about, and which values it takes");
    info::add_node_commands(app, of_node);
    app.add_subcommand("devices", "The RDMA devices of this machine, and what is wrong with them")
        ->fallthrough()
        ->callback([&r] { r.devices = true; });
    if (const auto ended = scoll::kit::read_command_line(app, argc, argv)) return finish(*ended);
    return finish(run(r, of_node));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "scoll-info: %s\n", e.what());
    return failed;
  }
}
