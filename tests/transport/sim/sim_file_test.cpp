#include <fcntl.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/transport/io/any_files.hpp"
#include "transport/io/file.hpp"
#include "transport/io/io_awaitables.hpp"

using namespace std::chrono_literals;
using namespace files_for_tests;

namespace {

constexpr int writable = O_RDWR | O_CREAT | O_CLOEXEC;
constexpr std::uint64_t seeds = 300;

/// Writes without synchronising anything.
task<status> put(file_system& files, std::string path, std::string content) {
  const auto opened = co_await async_open(files, path.c_str(), writable);
  if (!opened) co_return opened.error();
  co_return co_await write_all(*opened, bytes_of(content), 0);
}

/// Returns the content of a file, or "(none)" if there is no such file.
std::string content_of(sim_host& h, std::string path) {
  auto content = h.get(read_file(h.files(), std::move(path), 1 << 20));
  if (!content && no_such_file(content.error())) return "(none)";
  return text_of(content.value());
}

task<status> rename_file(file_system& files, std::string from, std::string to) {
  co_return co_await async_rename(files, from.c_str(), to.c_str());
}

}  // namespace

TEST_CASE("any subset of unsynchronised sectors survives a crash, each whole") {
  constexpr std::size_t sectors = 4;
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    const std::string path = h / "f";
    REQUIRE(h.get(replace_file(h.files(), path, bytes_of(std::string(sectors * 512, 'a')))));
    REQUIRE(h.get(put(h.files(), path, std::string(sectors * 512, 'b'))));
    h.crash();
    const std::string after = content_of(h, path);
    REQUIRE(after.size() == sectors * 512);
    std::string kinds;
    for (std::size_t s = 0; s < sectors; ++s) {
      const std::string sector = after.substr(s * 512, 512);
      REQUIRE(sector == std::string(512, sector[0]));
      kinds += sector[0];
    }
    seen.insert(kinds);
  }
  CHECK(seen.size() == 16);
}

TEST_CASE("of a sector that was written twice either version survives a crash, or the old one") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("old"))));
    REQUIRE(h.get(put(h.files(), h / "f", "one")));
    REQUIRE(h.get(put(h.files(), h / "f", "two")));
    h.crash();
    seen.insert(content_of(h, h / "f"));
  }
  CHECK(seen == std::set<std::string>{"old", "one", "two"});
}

TEST_CASE("a file that grew may have any size after a crash, and zeroes where nothing arrived") {
  std::set<std::size_t> sizes;
  bool hole = false;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("a"))));
    REQUIRE(h.get(put(h.files(), h / "f", std::string(1500, 'b'))));
    h.crash();
    const std::string after = content_of(h, h / "f");
    sizes.insert(after.size());
    hole = hole || after.find('\0') != std::string::npos;
    REQUIRE(after.find_first_not_of(std::string("ab\0", 3)) == std::string::npos);
  }
  CHECK(sizes == std::set<std::size_t>{1, 512, 1024, 1500});
  CHECK(hole);
}

TEST_CASE("what was synchronised survives every crash") {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    REQUIRE(h.get(put(h.files(), h / "f", std::string(3000, 'x'))));
    REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("short"))));
    h.crash();
    REQUIRE(content_of(h, h / "f") == "short");
    h.crash();
    REQUIRE(content_of(h, h / "f") == "short");
  }
}

TEST_CASE("a sparse file that was truncated before holds nothing old after a sync and a crash") {
  sim_host h(3);
  REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of(std::string(2000, 'x')))));
  h.run([](sim_host& on) -> task<> {
    const std::string path = on / "f";
    const auto opened = co_await async_open(on.files(), path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
    REQUIRE(opened);
    const auto written = co_await write_all(*opened, bytes_of("y"), 1800);
    REQUIRE(written);
    const auto synced = co_await async_sync(*opened);
    REQUIRE(synced);
  }(h));
  h.crash();
  CHECK(content_of(h, h / "f") == std::string(1800, '\0') + "y");
}

TEST_CASE("a new name is lost in some crashes, though the file was synchronised") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    h.run([](sim_host& on) -> task<> {
      const std::string path = on / "f";
      const auto opened = co_await async_open(on.files(), path.c_str(), writable);
      REQUIRE(opened);
      const auto written = co_await write_all(*opened, bytes_of("content"), 0);
      REQUIRE(written);
      const auto synced = co_await async_sync(*opened);
      REQUIRE(synced);
    }(h));
    h.crash();
    seen.insert(content_of(h, h / "f"));
  }
  CHECK(seen == std::set<std::string>{"(none)", "content"});
}

TEST_CASE("a rename happens as a whole or not at all, and after what it builds on") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    REQUIRE(h.get(replace_file(h.files(), h / "a", bytes_of("A"))));
    REQUIRE(h.get(replace_file(h.files(), h / "b", bytes_of("B"))));
    REQUIRE(h.get(rename_file(h.files(), h / "a", h / "b")));
    REQUIRE(h.get(rename_file(h.files(), h / "b", h / "c")));
    h.crash();
    seen.insert(content_of(h, h / "a") + content_of(h, h / "b") + content_of(h, h / "c"));
  }
  CHECK(seen == std::set<std::string>{"AB(none)", "(none)A(none)", "(none)(none)A"});
}

TEST_CASE("changes in different directories are lost apart, and a sync of one keeps what it builds on") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    REQUIRE(h.get(ensure_directory(h.files(), h / "p")));
    REQUIRE(h.get(ensure_directory(h.files(), h / "q")));
    REQUIRE(h.get(put(h.files(), h / "p/x", "")));
    REQUIRE(h.get(put(h.files(), h / "p/y", "")));
    REQUIRE(h.get(rename_file(h.files(), h / "p/x", h / "q/x")));
    REQUIRE(h.get(sync_directory(h.files(), h / "q")));
    h.crash();
    REQUIRE(content_of(h, h / "q/x").empty());
    REQUIRE(content_of(h, h / "p/x") == "(none)");
    seen.insert(content_of(h, h / "p/y"));
  }
  CHECK(seen == std::set<std::string>{"(none)", ""});
}

TEST_CASE("a file is replaced or not, at every crash point") {
  std::uint64_t operations = 0;
  {
    sim_host h;
    REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of(std::string(3000, 'a')))));
    operations = h.files().operations();
  }
  REQUIRE(operations == 7);  // open, write, sync, close, rename; open and sync of the directory
  std::set<std::string> seen;
  for (std::uint64_t at = 1; at <= operations; ++at) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      sim_host h(seed);
      REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of(std::string(3000, 'a')))));
      h.files().crash_at(at);
      const bool replaced =
          h.get(replace_file(h.files(), h / "f", bytes_of(std::string(2000, 'b')))).has_value();
      REQUIRE_FALSE(replaced);
      h.restart();
      const std::string after = content_of(h, h / "f");
      REQUIRE((after == std::string(3000, 'a') || after == std::string(2000, 'b')));
      seen.insert(std::to_string(at) + after[0]);
    }
  }
  CHECK_FALSE(seen.contains("4b"));  // before the rename it is always the old one
  CHECK(seen.contains("5b"));        // during the rename it may be either
  CHECK(seen.contains("7a"));        // and so until the directory is synchronised
}

TEST_CASE("the end of a process loses nothing") {
  sim_host h;
  REQUIRE(h.get(put(h.files(), h / "f", "content")));
  h.restart();
  CHECK(content_of(h, h / "f") == "content");
}

TEST_CASE("after a crash nothing works and nothing changes") {
  sim_host h;
  REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("content"))));
  h.files().crash();
  CHECK(h.files().crashed());
  CHECK(h.get(replace_file(h.files(), h / "f", bytes_of("other"))).error().detail() == EIO);
  CHECK(h.get(read_file(h.files(), h / "f", 100)).error().detail() == EIO);
  h.restart();
  CHECK(content_of(h, h / "f") == "content");
}

TEST_CASE("a write that is under way when the power fails has happened or not") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    sim_host h(seed);
    REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("old"))));
    std::string path = h / "f";
    auto f = h.get([](sim_host& on, const std::string& name) -> task<result<file>> {
      co_return co_await async_open(on.files(), name.c_str(), writable);
    }(h, path));
    scope work(h.time());
    status ended;
    work.spawn([](const file& into, status& outcome) -> task<> {
      outcome = co_await write_all(into, bytes_of("new"), 0);
    }(f.value(), ended));
    h.time().run_for(1us);
    h.files().crash();
    h.time().run_until_idle();
    REQUIRE(work.join().await_ready());
    REQUIRE_FALSE(ended);
    f = errc::closed;
    h.restart();
    seen.insert(content_of(h, path));
  }
  CHECK(seen == std::set<std::string>{"old", "new"});
}

TEST_CASE("equal seeds lose the same") {
  const auto play = [](std::uint64_t seed) {
    sim_host h(seed);
    for (int i = 0; i < 20; ++i) {
      REQUIRE(
          h.get(put(h.files(), h / std::to_string(i % 7), std::string(300 * static_cast<unsigned>(i), 'x'))));
      if (i % 5 == 4) h.crash();
    }
    std::string all;
    for (int i = 0; i < 7; ++i) all += std::to_string(i) + content_of(h, h / std::to_string(i));
    return all;
  };
  CHECK(play(1) == play(1));
  CHECK(play(1) != play(2));
}

TEST_CASE("a full disk takes what fits, says ENOSPC, and has room again after a removal") {
  sim_host h(1, {}, 4096);
  CHECK(h.get(put(h.files(), h / "a", std::string(1000, 'a'))));
  CHECK(h.disk().bytes_used() == 1024);
  const status full = h.get(put(h.files(), h / "b", std::string(4000, 'b')));
  CHECK(full.error().detail() == ENOSPC);
  CHECK(full.error().text() == "write /disk/b");
  CHECK(content_of(h, h / "b") == std::string(3072, 'b'));
  CHECK(h.get(put(h.files(), h / "a", std::string(1024, 'c'))));
  const status replaced = h.get(replace_file(h.files(), h / "a", bytes_of("d")));
  CHECK(replaced.error().detail() == ENOSPC);
  CHECK(content_of(h, h / "a") == std::string(1024, 'c'));
  h.run([](sim_host& on) -> task<> {
    const std::string path = on / "b";
    const auto removed = co_await async_unlink(on.files(), path.c_str());
    CHECK(removed);
  }(h));
  CHECK(h.get(replace_file(h.files(), h / "a", bytes_of("d"))));
}

TEST_CASE("an injected error hits the operation it is meant for, once") {
  sim_host h;
  REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("old"))));
  h.files().fail(file_operation::sync, 2, EIO);
  const status failed = h.get(replace_file(h.files(), h / "f", bytes_of("new")));
  CHECK(failed.error().detail() == EIO);
  CHECK(failed.error().text() == "fsync /disk");
  CHECK(content_of(h, h / "f") == "new");  // renamed, but that is not durable yet
  h.files().fail(file_operation::rename, 1, EACCES);
  CHECK(h.get(replace_file(h.files(), h / "f", bytes_of("newer"))).error().detail() == EACCES);
  CHECK(h.get(replace_file(h.files(), h / "f", bytes_of("newest"))));
  CHECK(h.files().open_files() == 0);
}

TEST_CASE("a damaged sector stays damaged") {
  sim_host h;
  REQUIRE(h.get(replace_file(h.files(), h / "f", bytes_of("content"))));
  CHECK(h.disk().damage(h / "f", 2));
  CHECK_FALSE(h.disk().damage(h / "f", 7));
  CHECK_FALSE(h.disk().damage(h / "g", 0));
  CHECK(content_of(h, h / "f") == "co~tent");
  h.crash();
  CHECK(content_of(h, h / "f") == "co~tent");
}

TEST_CASE("a simulated operation takes the time of its kind and size") {
  sim_file_options options;
  options.operation = 10us;
  options.sync = 1ms;
  options.ps_per_byte = 1'000'000;  // 1 us
  sim_host h(1, options);
  const time_point start = h.time().now();
  REQUIRE(h.get(put(h.files(), h / "f", std::string(100, 'x'))));
  CHECK(h.time().now() - start == 10us + 110us);
  const time_point before_sync = h.time().now();
  REQUIRE(h.get(sync_directory(h.files(), h.directory())));
  CHECK(h.time().now() - before_sync == 10us + 1010us);
}

TEST_CASE("a simulated read can be stopped while it is under way") {
  sim_host h;
  REQUIRE(h.get(put(h.files(), h / "f", "content")));
  stop_source source;
  std::string into(7, '?');
  scope work(h.time());
  result<std::size_t> got = errc::ok;
  const std::string path = h / "f";
  work.spawn([](file_system& files, const char* name, std::string& room, stop_token stop,
                result<std::size_t>& outcome) -> task<> {
    const auto opened = co_await async_open(files, name, O_RDONLY | O_CLOEXEC);
    REQUIRE(opened);
    outcome = co_await async_read(*opened, std::as_writable_bytes(std::span(room)), 0, stop);
  }(h.files(), path.c_str(), into, source.token(), got));
  h.time().run_for(30us);
  source.request_stop();
  const time_point stopped = h.time().now();
  h.time().run_until_idle();
  CHECK(h.time().now() == stopped);
  CHECK(work.join().await_ready());
  CHECK(got.error() == errc::cancelled);
  CHECK(into == "???????");
}
