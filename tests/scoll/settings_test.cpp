#include "scoll/settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "../catch.hpp"
#include "scoll/tree/greedy.hpp"

using namespace scoll;

namespace {

/// A variable of this process, for as long as this lives.
struct variable {
  variable(const char* called, const char* value) : name(called) { REQUIRE(setenv(called, value, 1) == 0); }
  ~variable() { unsetenv(name); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;
  const char* name;
};

/// A file that ends with it.
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

TEST_CASE("SCOLL_CONFIG names the file that a program reads at its start") {
  const file from("[link]\nreconnect_grace = \"250ms\"\n");
  const variable config("SCOLL_CONFIG", from.path.c_str());
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
  for (const char* value : {"", "epoll", "Poll", "0"}) refused("reactor.engine", value);
  for (const char* value : {"", "knomial:0", "oak"}) refused("node.default_tree", value);
  for (const char* value : {" ", "knomial:0", "oak"}) refused("node.pinned_tree", value);
  for (const char* value : {"localhost", "10.0.0.1"}) refused("tcp.bind_source", value);
  for (const char* value : {"../cubic", "a name", "sixteen_letters_"})
    refused("tcp.congestion_control", value);
  CHECK(s.set("tcp.keepalive", "5s").error() == errc::not_found);
  CHECK(s.complaint() == "there is no setting 'tcp.keepalive'");

  const file half("[tcp]\nbacklog = 7\nkeep_alive = 5\n");
  CHECK(s.load_file(half.path).error() == errc::invalid_argument);
  CHECK(s.complaint() == half.path + ":3: tcp.keep_alive is '5', and takes a time up to 3600s, 0: never");
  CHECK(s.tcp().backlog == transport::tcp_options{}.backlog);
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
  CHECK(complaint("[tcp]\nkeepalive = \"5s\"\n") == ":2: there is no setting 'tcp.keepalive'");
  CHECK(complaint("keep_alive = \"5s\"\n") == ":1: there is no setting 'keep_alive'");
  CHECK(complaint("[tcp]\nkeep_alive = 1.5\n").starts_with(":2: tcp.keep_alive is neither"));
  CHECK(complaint("[tcp]\nkeep_alive = [\"5s\"]\n").starts_with(":2: tcp.keep_alive is neither"));
  CHECK(complaint("[tcp\n").starts_with(":1: "));
}

TEST_CASE("a variable that looks like a setting and is none is refused, and others are ignored") {
  settings s;
  {
    const variable typing_error("SCOLL_TCP_KEEPALIVE", "5s");
    CHECK(s.load_environment().error() == errc::not_found);
    CHECK(s.complaint() == "SCOLL_TCP_KEEPALIVE: there is no such setting");
  }
  const variable other("SCOLL_BIN_DIR", "/somewhere");
  CHECK(s.load_environment().has_value());
}

TEST_CASE("the reactor's engine is a setting, and the reactor itself obeys its variable") {
  settings s;
  CHECK(s.reactor().engine == transport::reactor_engine::automatic);
  {
    const variable asked("SCOLL_REACTOR_ENGINE", "poll");
    REQUIRE(s.load_environment().has_value());
    CHECK(s.reactor().engine == transport::reactor_engine::poll);
    CHECK(transport::reactor::create(s.reactor()).value()->features().engine == "poll");
    CHECK(transport::reactor::create().value()->features().engine == "poll");
  }
  {
    const variable misspelt("SCOLL_REACTOR_ENGINE", "pol");
    CHECK(s.load_environment().error() == errc::invalid_argument);
    CHECK(transport::reactor::create().error() == errc::invalid_argument);
  }
  const file from("[reactor]\nengine = \"io_uring\"\n");
  settings other;
  REQUIRE(other.load_file(from.path).has_value());
  CHECK(other.reactor().engine == transport::reactor_engine::io_uring);
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
