#include "scoll/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <vector>

#include "scoll/tree/greedy.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

/// Sets an environment variable of this process for its lifetime.
struct variable {
  variable(std::string called, const std::string& value) : name(std::move(called)) {
    REQUIRE(setenv(name.c_str(), value.c_str(), 1) == 0);
  }
  ~variable() { unsetenv(name.c_str()); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  std::string name;
};

/// Writes a file that is removed with the object.
struct file {
  explicit file(const std::string& text)
      : path(std::filesystem::temp_directory_path() /
             ("scoll-settings-" + std::to_string(getpid()) + ".toml")) {
    std::ofstream(path) << text;
  }
  ~file() { std::filesystem::remove(path); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  std::string path;
};

setting of(const settings& s, std::string_view name) {
  const auto all = s.list();
  const auto at = std::ranges::find(all, name, &setting::name);
  REQUIRE(at != all.end());
  return *at;
}

std::string variable_of(std::string_view name) {
  std::string all = "SCOLL_";
  for (const char c : name)
    all += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return all;
}

struct bounds {
  std::string least, most;
};

/// Reads the bounds from the words of the documentation; returns nothing for a setting that is not a number.
std::optional<bounds> bounds_of(const setting& s) {
  const std::string takes(s.takes);
  std::smatch found;
  if (std::regex_search(takes, found, std::regex("(\\d+\\w*) to (\\d+\\w*)")))
    return bounds{found[1], found[2]};
  if (takes.starts_with("1 or more")) return bounds{"1", "4294967295"};
  if (std::regex_search(takes, found, std::regex("^a time up to (\\w+)(, 0:)?")))
    return bounds{found[2].matched ? "0" : "1ns", found[1]};
  if (std::regex_search(takes, found, std::regex("^up to (\\w+)"))) return bounds{"0", found[1]};
  return std::nullopt;
}

/// Returns the other setting that the words relate this one to; empty if there is none.
std::string partner_of(const setting& s) {
  const std::string takes(s.takes);
  std::smatch found;
  return std::regex_search(takes, found,
                           std::regex("at (?:least|most) (?:twice |half of )?([a-z]+\\.[a-z_]+)"))
             ? found[1].str()
             : "";
}

/// Checks the values with the code that will use them.
void check_usable(const settings& s) {
  CHECK(s.reactor().validate().has_value());
  node_options options = s.node();
  options.id = 7;
  CHECK(options.validate().has_value());
  transport::endpoint_options links = options.link;
  links.self = options.id;
  links.cluster = options.cluster;
  links.incarnation = 1;
  CHECK(links.validate().has_value());
}

/// Returns the complaint about settings that must be refused after everything has been read.
std::string refusal_of(settings& s) {
  const status outcome = s.load();
  CHECK(outcome.error() == errc::invalid_argument);
  for (const setting& one : s.list()) CHECK(one.value == one.fallback);
  return s.complaint();
}

}  // namespace

TEST_CASE("built-in settings are those of the options themselves, and can all be written back") {
  settings s;
  CHECK(s.reactor().receive_buffers == transport::reactor_options{}.receive_buffers);
  CHECK(s.tcp().keep_alive == transport::tcp_options{}.keep_alive);
  CHECK(s.node().link.queue_limit == transport::endpoint_options{}.queue_limit);
  for (const setting& one : s.list()) {
    INFO(one.name);
    CHECK(one.value == one.fallback);
    CHECK(one.origin == setting_origin::built_in);
    CHECK(s.set(one.name, one.value).has_value());
    CHECK(of(s, one.name).value == one.value);
    CHECK(of(s, one.name).origin == setting_origin::code);
  }
}

TEST_CASE("a file, the environment and the program have the last word in this order, whoever comes last") {
  const file from(
      "[tcp]\nkeep_alive = \"9s\"\nbacklog = 7\n[ship]\nlarge_bytes = \"3MiB\"\n[reactor]\nannounce = "
      "false\n");
  const variable keep("SCOLL_TCP_KEEP_ALIVE", "8s");
  const variable workers("SCOLL_NODE_WORKERS", "5");
  const bool file_last = GENERATE(false, true);
  settings s;
  REQUIRE(s.set("node.workers", "6").has_value());
  if (file_last) REQUIRE(s.load_environment().has_value());
  REQUIRE(s.load_file(from.path).has_value());
  if (!file_last) REQUIRE(s.load_environment().has_value());
  CHECK(s.tcp().keep_alive == std::chrono::seconds(8));
  CHECK(s.tcp().backlog == 7);
  CHECK(s.node().workers == 6);
  CHECK(s.node().ship.large_bytes == 3U << 20);
  CHECK_FALSE(s.reactor().announce);
  CHECK(of(s, "tcp.keep_alive").origin == setting_origin::environment);
  CHECK(of(s, "tcp.keep_alive").where == "SCOLL_TCP_KEEP_ALIVE");
  CHECK(of(s, "tcp.backlog").where == from.path + ":3");
  CHECK(of(s, "node.workers").origin == setting_origin::code);
}

TEST_CASE("what a program suggests stands until anybody says otherwise, even if it comes last") {
  const variable workers("SCOLL_NODE_WORKERS", "5");
  const bool suggested_last = GENERATE(false, true);
  settings s;
  const auto suggest = [&] {
    REQUIRE(s.suggest("node.workers", "1").has_value());
    REQUIRE(s.suggest("tcp.backlog", "9").has_value());
  };
  if (!suggested_last) suggest();
  REQUIRE(s.load_environment().has_value());
  if (suggested_last) suggest();
  CHECK(s.node().workers == 5);
  CHECK(s.tcp().backlog == 9);
  CHECK(of(s, "tcp.backlog").origin == setting_origin::program);
  CHECK(of(s, "tcp.backlog").fallback == "512");
  CHECK(s.suggest("tcp.backlog", "0").error() == errc::invalid_argument);
  CHECK(s.suggest("tcp.back", "1").error() == errc::not_found);
}

TEST_CASE("where a node listens, and what it announces, are settings") {
  const file from("[node]\nlisten = \"0.0.0.0:7001\"\nadvertise = \"storage-7:7001\"\n");
  const variable listen("SCOLL_NODE_LISTEN", "tcp://[::]:7001;bulk=tcp://10.0.0.1:7002");
  settings s;
  CHECK(s.node().listen.empty());
  CHECK(s.node().advertise.empty());
  REQUIRE(s.load(from.path).has_value());
  CHECK(s.node().listen == "tcp://[::]:7001;bulk=tcp://10.0.0.1:7002");
  CHECK(s.node().advertise == "storage-7:7001");
}

TEST_CASE("the security of connections is a setting, whose files are named with their mode") {
  const file from(
      "[security]\nmode = \"tls\"\nkeys = \"/k\"\nca = \"/a\"\ncertificate = \"/c\"\nkey = \"/p\"\n");
  settings s;
  CHECK(s.node().security.mode == transport::security_mode::none);
  REQUIRE(s.load(from.path).has_value());
  CHECK(s.node().security.mode == transport::security_mode::tls);
  CHECK(s.node().security.keys == "/k");
  CHECK(s.node().security.ca == "/a");
  CHECK(s.node().security.certificate == "/c");
  CHECK(s.node().security.key == "/p");

  settings bare;
  CHECK(bare.set("security.mode", "ssl").error() == errc::invalid_argument);
  REQUIRE(bare.set("security.mode", "tls").has_value());
  REQUIRE(bare.set("security.ca", "/a").has_value());
  REQUIRE(bare.set("security.certificate", "/c").has_value());
  REQUIRE(bare.set("security.key", "/p").has_value());
  CHECK(bare.check().error() == errc::invalid_argument);  // gossip needs the ring
  CHECK_THAT(bare.complaint(), Catch::Contains("security.mode is 'tls'") && Catch::Contains("security.keys"));
  REQUIRE(bare.set("security.keys", "/k").has_value());
  CHECK(bare.check().has_value());
}

TEST_CASE("SCOLL_CONFIG names the file that a program reads at its start") {
  const file from("[link]\nreconnect_grace = \"250ms\"\n");
  const variable config("SCOLL_CONFIG", from.path);
  settings s;
  REQUIRE(s.load().has_value());
  CHECK(s.node().link.reconnect_grace == std::chrono::milliseconds(250));
}

TEST_CASE("what is not allowed is refused by name, and nothing of its source is taken") {
  settings s;
  const auto refused = [&](std::string_view name, std::string_view value) {
    INFO(name << " = " << value);
    const status outcome = s.set(name, value);
    CHECK(outcome.error() == errc::invalid_argument);
    CHECK(s.complaint().find(name) != std::string::npos);
    CHECK(of(s, name).origin == setting_origin::built_in);
  };
  for (const char* value : {"", "-1", "0", "3", "65536", "64 ", "0x40", "64k"})
    refused("reactor.receive_buffers", value);
  for (const char* value : {"", "5", "5 h", "-1s", "3601s", "9223372036854775807s", "1.5s"})
    refused("tcp.keep_alive", value);
  for (const char* value : {"", "2MiB", "0", "1 kb"}) refused("link.transfer_segment_bytes", value);
  for (const char* value : {"", "yes", "TRUE", "1"}) refused("reactor.announce", value);
  for (const char* value : {"", "epoll", "Poll", "0"}) refused("reactor.backend", value);
  for (const char* value : {"", "knomial:0", "oak"}) refused("node.default_tree", value);
  for (const char* value : {" ", "knomial:0", "oak"}) refused("node.pinned_tree", value);
  for (const char* value : {" ", "chain:2", "kary:1", "tree"}) refused("node.bulk_plan", value);
  for (const char* value : {"localhost", "10.0.0.1"}) refused("tcp.bind_source", value);
  for (const char* value : {" ", "storage-7: 7001", "storage-7:7001\n"}) refused("node.listen", value);
  refused("node.advertise", "storage 7:7001");
  for (const char* value : {"../cubic", "a name", "sixteen_letters_"})
    refused("tcp.congestion_control", value);
  CHECK(s.set("tcp.keepalive", "5s").error() == errc::not_found);
  CHECK(s.complaint() == "there is no setting 'tcp.keepalive': did you mean tcp.keep_alive?");

  const file half("[tcp]\nbacklog = 7\nkeep_alive = 5\n");
  CHECK(s.load_file(half.path).error() == errc::invalid_argument);
  CHECK(s.complaint() == half.path + ":3: tcp.keep_alive is '5', and takes a time up to 3600s, 0: never; " +
                             "a unit is missing, as in 5s");
  CHECK(s.tcp().backlog == transport::tcp_options{}.backlog);
}

TEST_CASE("every bound that is documented is accepted, and what is accepted can be used") {
  std::size_t tried = 0;
  for (const setting& one : settings().list()) {
    const auto both = bounds_of(one);
    if (!both) continue;
    const std::string partner = partner_of(one);
    for (const bool most : {false, true}) {
      INFO(one.name << " takes " << one.takes << ": " << (most ? both->most : both->least));
      ++tried;
      const variable chosen(variable_of(one.name), most ? both->most : both->least);
      settings alone;
      if (alone.load()) {
        check_usable(alone);
        continue;
      }
      CHECK(alone.complaint().starts_with(chosen.name + ": " + std::string(one.name) + " is '"));
      REQUIRE_FALSE(partner.empty());
      const bounds others = *bounds_of(of(alone, partner));
      const variable fitting(variable_of(partner), most ? others.most : others.least);
      settings together;
      CHECK(together.load().has_value());
      check_usable(together);
    }
  }
  CHECK(tried > 60);
}

TEST_CASE("settings that do not fit together are refused with who has chosen them") {
  settings s;
  {
    const variable queue("SCOLL_LINK_QUEUE_LIMIT", "4");
    CHECK(refusal_of(s) ==
          "SCOLL_LINK_QUEUE_LIMIT: link.queue_limit is '4'; this does not fit: transfer_window is 16, not in "
          "1..4 (queue_limit)");
    REQUIRE(s.set("link.transfer_window", "4").has_value());
    CHECK(s.load().has_value());
    CHECK(s.node().link.transfer_window == 4);
  }
  s = settings();
  {
    const file from("[link]\nbackoff_first = \"2ms\"\n[reactor]\n# a comment\nreceive_buffers = 128\n");
    const variable config("SCOLL_CONFIG", from.path);
    const variable limit("SCOLL_LINK_BACKOFF_LIMIT", "1ms");
    CHECK(refusal_of(s) == from.path +
                               ":2: link.backoff_first is '2ms'; SCOLL_LINK_BACKOFF_LIMIT: "
                               "link.backoff_limit is '1ms'; this does not fit: backoff_limit is "
                               "1000000 ns, less than backoff_first, 2000000 ns");
  }
  REQUIRE(s.set("link.backoff_first", "10s").has_value());
  CHECK(s.check().error() == errc::invalid_argument);
  CHECK(s.complaint().starts_with("code: link.backoff_first is '10s'; this does not fit: backoff_limit"));
  REQUIRE(s.set("link.backoff_limit", "10s").has_value());
  CHECK(s.check().has_value());
  CHECK(s.complaint().empty());
}

TEST_CASE("settings of the reactor that do not fit together are refused with who has chosen them") {
  settings s;
  {
    const variable completions("SCOLL_REACTOR_COMPLETION_ENTRIES", "256");
    CHECK_THAT(refusal_of(s), Catch::Matchers::StartsWith(
                                  "SCOLL_REACTOR_COMPLETION_ENTRIES: reactor.completion_entries is '256'; "));
  }
  const file from("[reactor]\nreceive_buffers = 128\nreceive_buffer_limit = 100\n");
  const variable config("SCOLL_CONFIG", from.path);
  CHECK(refusal_of(s) == from.path + ":2: reactor.receive_buffers is '128'; " + from.path +
                             ":3: reactor.receive_buffer_limit is '100'; this does not fit: reactor."
                             "receive_buffer_limit is 100, not in 128..65536");
}

TEST_CASE("suggestions give way to what they do not fit with, and to nothing else") {
  const auto suggest = [](settings& s) {
    REQUIRE(s.suggest("reactor.submission_entries", "64").has_value());
    REQUIRE(s.suggest("reactor.completion_entries", "256").has_value());
    REQUIRE(s.suggest("reactor.receive_buffers", "2").has_value());
    REQUIRE(s.suggest("reactor.receive_buffer_limit", "2").has_value());
  };
  const file from("[reactor]\nreceive_buffers = 64\nsubmission_entries = 256\n");
  settings s;
  suggest(s);
  REQUIRE(s.check().has_value());
  CHECK(s.reactor().receive_buffer_limit == 2);
  CHECK(s.reactor().completion_entries == 256);

  const bool suggested_last = GENERATE(false, true);
  settings shared;
  if (!suggested_last) suggest(shared);
  REQUIRE(shared.load(from.path).has_value());
  if (suggested_last) suggest(shared);
  REQUIRE(shared.check().has_value());
  CHECK(shared.reactor().receive_buffers == 64);
  CHECK(of(shared, "reactor.receive_buffer_limit").value == "2048");
  CHECK(of(shared, "reactor.receive_buffer_limit").origin == setting_origin::built_in);
  CHECK(shared.reactor().submission_entries == 256);
  CHECK(of(shared, "reactor.completion_entries").value == "4096");
  check_usable(shared);

  const variable entries("SCOLL_REACTOR_SUBMISSION_ENTRIES", "128");
  REQUIRE(s.load().has_value());
  CHECK(s.reactor().completion_entries == 256);
  CHECK(s.reactor().receive_buffer_limit == 2);
  CHECK(of(s, "reactor.completion_entries").origin == setting_origin::program);
}

TEST_CASE("what people say and is wrong is refused, whatever a program suggests") {
  settings s;
  REQUIRE(s.suggest("reactor.completion_entries", "2048").has_value());
  const variable entries("SCOLL_REACTOR_SUBMISSION_ENTRIES", "4096");
  CHECK(s.load().error() == errc::invalid_argument);
  CHECK_THAT(s.complaint(),
             Catch::Matchers::StartsWith(
                 "SCOLL_REACTOR_SUBMISSION_ENTRIES: reactor.submission_entries is '4096'; this "
                 "does not fit: reactor.completion_entries is 4096"));
  CHECK(of(s, "reactor.completion_entries").value == "2048");
}

TEST_CASE("a node's options answer for its links, whose incarnation may be chosen later") {
  node_options options;
  CHECK(options.validate().error() == errc::invalid_argument);
  options.id = 1;
  CHECK(options.validate().has_value());
  options.link.queue_limit = 4;
  CHECK(options.validate().error() == errc::invalid_argument);
}

TEST_CASE("what travels in the message has room for its head") {
  const variable none("SCOLL_SHIP_EAGER_BYTES", GENERATE("0", "511"));
  settings s;
  CHECK_THAT(refusal_of(s), Catch::Matchers::EndsWith("takes 512 to 32KiB"));
}

TEST_CASE("files that cannot be read say why, and where") {
  settings s;
  CHECK(s.load_file("/does/not/exist.toml").error() == errc::not_found);
  const auto complaint = [&](const std::string& text) {
    const file from(text);
    CHECK_FALSE(s.load_file(from.path).has_value());
    CHECK(s.complaint().starts_with(from.path));
    return s.complaint().substr(from.path.size());
  };
  CHECK(complaint("[tcp]\nkeepalive = \"5s\"\n") ==
        ":2: there is no setting 'tcp.keepalive': did you mean tcp.keep_alive?");
  CHECK(complaint("keep_alive = \"5s\"\n") ==
        ":1: there is no setting 'keep_alive': did you mean tcp.keep_alive?");
  CHECK(complaint("colour = 1\n") == ":1: there is no setting 'colour'");
  CHECK(complaint("[tcp]\nkeep_alive = 1.5\n").starts_with(":2: tcp.keep_alive is neither"));
  CHECK(complaint("[tcp]\nkeep_alive = [\"5s\"]\n").starts_with(":2: tcp.keep_alive is neither"));
  CHECK(complaint("[tcp\n").starts_with(":1: "));
}

TEST_CASE("a folder, and what fails half way, are no empty files") {
  const std::string path = GENERATE("/proc/self", "/proc/self/mem");
  settings s;
  CHECK(s.load_file(path).error() == errc::io_error);
  CHECK_THAT(s.complaint(), Catch::Matchers::StartsWith(path + ": it cannot be read: "));
  const variable config("SCOLL_CONFIG", path);
  CHECK(s.load().error() == errc::io_error);
}

TEST_CASE("a file may be a pipe, or empty") {
  settings s;
  CHECK(s.load_file("/dev/null").has_value());
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const std::string_view text = "[tcp]\nbacklog = 7\n";
  CHECK(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(ends[1]);
  CHECK(s.load_file("/proc/self/fd/" + std::to_string(ends[0])).has_value());
  close(ends[0]);
  CHECK(s.tcp().backlog == 7);
}

TEST_CASE("a variable that looks like a setting and is none is refused, and others are ignored") {
  settings s;
  {
    const variable typing_error("SCOLL_TCP_KEEPALIVE", "5s");
    CHECK(s.load_environment().error() == errc::not_found);
    CHECK(s.complaint() ==
          "SCOLL_TCP_KEEPALIVE: there is no such setting: did you mean SCOLL_TCP_KEEP_ALIVE?");
  }
  const variable other("SCOLL_BIN_DIR", "/somewhere");
  CHECK(s.load_environment().has_value());
}

TEST_CASE("variables that are no settings are listed with what they look like") {
  const auto found = [](const std::string& name) -> std::optional<std::string> {
    const auto all = unknown_variables();
    const auto at = std::ranges::find(all, name, &unknown_variable::name);
    return at == all.end() ? std::nullopt : std::optional(at->near);
  };
  const variable file("SCOLL_CONFIG", "/dev/null");
  const variable right("SCOLL_TCP_KEEP_ALIVE", "5s");
  const variable swapped("SCOLL_TPC_BACKLOG", "bogus");
  const variable missing("SCOLL_REACTR_BACKEND", "x");
  const variable small("SCOLL_tcp_BACKLOG", "9");
  const variable other("SCOLL_SOMEBODY_ELSE", "1");
  CHECK(settings().load().has_value());
  CHECK_FALSE(found("SCOLL_CONFIG"));
  CHECK_FALSE(found("SCOLL_TCP_KEEP_ALIVE"));
  CHECK(found("SCOLL_TPC_BACKLOG") == "SCOLL_TCP_BACKLOG");
  CHECK(found("SCOLL_REACTR_BACKEND") == "SCOLL_REACTOR_BACKEND");
  CHECK(found("SCOLL_tcp_BACKLOG") == "SCOLL_TCP_BACKLOG");
  CHECK(found("SCOLL_SOMEBODY_ELSE") == "");
  CHECK(std::ranges::is_sorted(unknown_variables(), {}, &unknown_variable::name));
}

TEST_CASE("the reactor's backend is a setting, and the reactor itself obeys its variable") {
  settings s;
  CHECK(s.reactor().backend == transport::reactor_backend::automatic);
  {
    const variable asked("SCOLL_REACTOR_BACKEND", "poll");
    REQUIRE(s.load_environment().has_value());
    CHECK(s.reactor().backend == transport::reactor_backend::poll);
    CHECK(transport::reactor::create(s.reactor()).value()->features().backend == "poll");
    CHECK(transport::reactor::create().value()->features().backend == "poll");
  }
  {
    const variable misspelt("SCOLL_REACTOR_BACKEND", "pol");
    CHECK(s.load_environment().error() == errc::invalid_argument);
    CHECK(transport::reactor::create().error() == errc::invalid_argument);
  }
  const file from("[reactor]\nbackend = \"io_uring\"\n");
  settings other;
  REQUIRE(other.load_file(from.path).has_value());
  CHECK(other.reactor().backend == transport::reactor_backend::io_uring);
  const variable outweighs("SCOLL_REACTOR_BACKEND", "poll");
  REQUIRE(other.load(from.path).has_value());
  CHECK(other.reactor().backend == transport::reactor_backend::poll);
  REQUIRE(other.set("reactor.backend", "io_uring").has_value());
  CHECK(other.reactor().backend == transport::reactor_backend::io_uring);
}

TEST_CASE("a tree can be pinned, and let go of again") {
  settings s;
  CHECK_FALSE(s.node().pinned_tree);
  REQUIRE(s.set("node.pinned_tree", "greedy:7,1,2").has_value());
  CHECK(s.node().pinned_tree == tree_spec(greedy{7, 1, 2}));
  CHECK(of(s, "node.pinned_tree").value == "greedy:7,1,2");
  REQUIRE(s.set("node.pinned_tree", "").has_value());
  CHECK_FALSE(s.node().pinned_tree);
}

TEST_CASE("a plan for bulk data can be pinned, and let go of again") {
  settings s;
  CHECK_FALSE(s.node().bulk_plan);
  REQUIRE(s.set("node.bulk_plan", "kary:2").has_value());
  CHECK(s.node().bulk_plan == bulk_plan::binary());
  CHECK(of(s, "node.bulk_plan").value == "kary:2");
  REQUIRE(s.set("node.bulk_plan", "").has_value());
  CHECK_FALSE(s.node().bulk_plan);
}

TEST_CASE("times and sizes are written in the largest unit that fits") {
  settings s;
  const auto written = [&](std::string_view name, std::string_view value) {
    REQUIRE(s.set(name, value).has_value());
    return of(s, name).value;
  };
  CHECK(written("tcp.connect_limit", "1500ms") == "1500ms");
  CHECK(written("tcp.connect_limit", "2000 ms") == "2s");
  CHECK(written("tcp.keep_alive", "0") == "0ns");
  CHECK(written("ship.large_bytes", "1048577") == "1048577");
  CHECK(written("ship.large_bytes", "2048KiB") == "2MiB");
}
