#include "transport/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "any_files.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"
#include "transport/io/io_awaitables.hpp"

using namespace std::chrono_literals;
using namespace files_for_tests;
using Catch::Matchers::Contains;
using on_reactor::recorder;

namespace {

constexpr int new_file = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;

std::span<std::byte> room_in(std::string& text) {
  return std::as_writable_bytes(std::span(text));
}

task<> life_of_a_file(host& h) {
  file_system& files = h.files();
  const std::string first = h / "first", second = h / "second";
  const std::string text = "the quick brown fox";
  {
    const auto opened = co_await async_open(files, first.c_str(), new_file, 0640);
    REQUIRE(opened);
    const file& f = *opened;
    CHECK(f.path() == first);
    const auto written = co_await write_all(f, bytes_of(text), 0);
    CHECK(written);
    const auto far = co_await write_all(f, bytes_of(text), 1000);
    CHECK(far);
    const auto synced = co_await async_sync(f);
    CHECK(synced);
    auto size = co_await file_size(f);
    CHECK(size.value() == 1000 + text.size());

    std::string back(text.size(), '?');
    auto got = co_await read_all(f, room_in(back), 1000);
    CHECK(got.value() == text.size());
    CHECK(back == text);
    auto hole = co_await read_all(f, room_in(back), 500);
    CHECK(hole.value() == text.size());
    CHECK(back == std::string(text.size(), '\0'));
    auto tail = co_await read_all(f, room_in(back), 1015);
    CHECK(tail.value() == 4);
    auto nothing = co_await async_read(f, room_in(back), 5000);
    CHECK(nothing.value() == 0);
    const auto taken = co_await async_open(files, first.c_str(), new_file);
    CHECK(taken.error().detail() == EEXIST);
  }
  struct statx info;
  std::memset(&info, 0, sizeof info);
  const auto looked = co_await async_stat(files, first.c_str(), info);
  CHECK(looked);
  CHECK(info.stx_size == 1000 + text.size());
  CHECK((info.stx_mode & 0777) == 0640);
  CHECK(S_ISREG(info.stx_mode));
  const auto renamed = co_await async_rename(files, first.c_str(), second.c_str());
  CHECK(renamed);
  const auto gone = co_await async_stat(files, first.c_str(), info);
  CHECK(gone.error().detail() == ENOENT);
  const auto removed = co_await async_unlink(files, second.c_str());
  CHECK(removed);
  const auto again = co_await async_unlink(files, second.c_str());
  CHECK(again.error().detail() == ENOENT);
}

task<> directories(host& h) {
  file_system& files = h.files();
  const std::string folder = h / "folder", name = h / "folder/b", other = h / "folder/a",
                    deep = h / "folder/c";
  const auto made = co_await async_make_directory(files, folder.c_str());
  CHECK(made);
  const auto twice = co_await async_make_directory(files, folder.c_str());
  CHECK(twice.error().detail() == EEXIST);
  const auto ensured = co_await ensure_directory(files, folder);
  CHECK(ensured);
  const auto below = co_await ensure_directory(files, deep);
  CHECK(below);
  for (const std::string* path : {&name, &other}) {
    const auto opened = co_await async_open(files, path->c_str(), new_file);
    CHECK(opened);
  }
  const auto synced = co_await sync_directory(files, folder);
  CHECK(synced);
  directory_listing names{{"old", false}};
  const auto listed = co_await async_list(files, folder.c_str(), names);
  CHECK(listed);
  CHECK(names == directory_listing{{"a", false}, {"b", false}, {"c", true}});

  const auto no_file = co_await async_unlink(files, folder.c_str());
  CHECK_FALSE(no_file);
  const auto not_empty = co_await async_unlink(files, folder.c_str(), AT_REMOVEDIR);
  CHECK(not_empty.error().detail() == ENOTEMPTY);
  const auto no_directory = co_await async_unlink(files, name.c_str(), AT_REMOVEDIR);
  CHECK(no_directory.error().detail() == ENOTDIR);
  for (const std::string* path : {&name, &other}) {
    const auto removed = co_await async_unlink(files, path->c_str());
    CHECK(removed);
  }
  const auto deep_gone = co_await async_unlink(files, deep.c_str(), AT_REMOVEDIR);
  CHECK(deep_gone);
  const auto gone = co_await async_unlink(files, folder.c_str(), AT_REMOVEDIR);
  CHECK(gone);
}

task<> bad_paths(host& h) {
  file_system& files = h.files();
  const std::string missing = h / "missing", below = h / "missing/name", file_name = h / "file";
  const auto opened = co_await async_open(files, missing.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE_FALSE(opened);
  CHECK(no_such_file(opened.error()));
  CHECK_THAT(describe(opened.error()), Contains("open " + missing) && Contains("No such file"));
  const auto created = co_await async_open(files, below.c_str(), new_file);
  CHECK(created.error().detail() == ENOENT);
  const auto removed = co_await async_unlink(files, missing.c_str());
  REQUIRE_FALSE(removed);
  CHECK_THAT(describe(removed.error()), Contains("unlink /"));
  const auto renamed = co_await async_rename(files, missing.c_str(), missing.c_str());
  CHECK(renamed.error().detail() == ENOENT);
  directory_listing names{{"kept", false}};
  const auto listed = co_await async_list(files, missing.c_str(), names);
  CHECK(listed.error().detail() == ENOENT);
  CHECK(names.size() == 1);
  const auto read = co_await read_file(files, missing, 100);
  CHECK(no_such_file(read.error()));
  const auto made = co_await async_make_directory(files, below.c_str());
  CHECK(made.error().detail() == ENOENT);
  const auto replaced = co_await replace_file(files, below, bytes_of("x"));
  CHECK(no_such_file(replaced.error()));

  const auto plain = co_await replace_file(files, file_name, bytes_of("x"));
  CHECK(plain);
  const std::string through = file_name + "/name";
  const auto no_folder = co_await async_open(files, through.c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(no_folder.error().detail() == ENOTDIR);
  const auto as_folder = co_await async_open(files, file_name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  CHECK(as_folder.error().detail() == ENOTDIR);
  const auto as_file = co_await async_open(files, h.directory().c_str(), O_RDWR | O_CLOEXEC);
  CHECK(as_file.error().detail() == EISDIR);
}

task<> bad_descriptors(host& h) {
  file nothing(h.files(), -1, "nowhere");
  std::byte buffer[8];
  auto got = co_await async_read(nothing, buffer, 0);
  CHECK(got.error().detail() == EBADF);
  CHECK_THAT(describe(got.error()), Contains("read nowhere"));
  const auto closed = co_await async_close(nothing);
  CHECK(closed.error().detail() == EBADF);

  const std::string path = h / "only";
  auto to_write = co_await async_open(h.files(), path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC);
  REQUIRE(to_write);
  const auto read = co_await async_read(*to_write, buffer, 0);
  CHECK(read.error().detail() == EBADF);
  const auto to_read = co_await async_open(h.files(), path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(to_read);
  const auto written = co_await async_write(*to_read, buffer, 0);
  CHECK(written.error().detail() == EBADF);
  const auto well = co_await async_close(*to_write);
  CHECK(well);
  CHECK_FALSE(*to_write);
}

task<> large_file(host& h, std::size_t size) {
  const std::string path = h / "large";
  std::vector<std::byte> out(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 31 >> 3);
  const auto written = co_await replace_file(h.files(), path, out);
  REQUIRE(written);
  const auto in = co_await read_file(h.files(), path, size);
  REQUIRE(in);
  CHECK(std::equal(in->begin(), in->end(), out.begin(), out.end()));
  const auto too_large = co_await read_file(h.files(), path, size - 1);
  CHECK(too_large.error() == errc::too_large);
}

task<> replacing(host& h) {
  const std::string path = h / "state";
  for (const char* text : {"one", "two, which is longer", "3", ""}) {
    const auto replaced = co_await replace_file(h.files(), path, bytes_of(text));
    CHECK(replaced);
    auto content = co_await read_file(h.files(), path, 100);
    CHECK(text_of(content.value()) == text);
  }
  directory_listing names;
  const auto listed = co_await async_list(h.files(), h.directory().c_str(), names);
  CHECK(listed);
  CHECK(names == directory_listing{{"state", false}});
}

task<result<std::size_t>> read_once(const file& f, std::span<std::byte> into, stop_token stop) {
  auto got = co_await async_read(f, into, 0, stop);
  co_return got;
}

}  // namespace

TEST_CASE("a file is created, written, read, renamed and removed", "[reactor]") {
  const int before = on_reactor::open_descriptors();
  {
    const auto h = any_host();
    h->run(life_of_a_file(*h));
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("directories are made, listed, synchronised and removed", "[reactor]") {
  const int before = on_reactor::open_descriptors();
  {
    const auto h = any_host();
    h->run(directories(*h));
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("failed file operations name the path and the errno", "[reactor]") {
  const auto h = any_host();
  h->run(bad_paths(*h));
  h->run(bad_descriptors(*h));
}

TEST_CASE("a large file goes out and comes back whole", "[reactor]") {
  const auto h = any_host();
  h->run(large_file(*h, std::size_t{10} << 20));
}

TEST_CASE("a file is replaced as a whole and leaves nothing beside it", "[reactor]") {
  const auto h = any_host();
  h->run(replacing(*h));
}

TEST_CASE("the text of a file's error keeps the end of a long path") {
  const std::string path = std::string(200, 'x') + "/the-end";
  const error e = file_error(errc::io_error, "open", path);
  CHECK(e.text().size() == error::text_capacity);
  CHECK(e.text().starts_with("open ...x"));
  CHECK(e.text().ends_with("x/the-end"));
  CHECK(file_error(errc::io_error, "open", "/short").text() == "open /short");
  CHECK(file_error(errc::io_error, "open", "").text() == "open");
  CHECK(file_error(errc::io_error, std::string(200, 'y'), path).text() ==
        std::string(error::text_capacity - 3, 'y') + "...");
}

TEST_CASE("the directory of a path") {
  CHECK(parent_directory("a") == ".");
  CHECK(parent_directory("a/") == ".");
  CHECK(parent_directory("a/b") == "a");
  CHECK(parent_directory("/a") == "/");
  CHECK(parent_directory("//a") == "/");
  CHECK(parent_directory("/") == "/");
  CHECK(parent_directory("/a/b/") == "/a");
  CHECK(parent_directory("/a//b") == "/a");
  CHECK(parent_directory("") == ".");
}

TEST_CASE("a read can be stopped before, during and after", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const file out(*r, ends[0], "a pipe");
  const unique_fd in(ends[1]);
  std::byte buffer[16];
  stop_source source;
  std::optional<result<std::size_t>> got;
  on_reactor::group all(*r);
  SECTION("before") {
    source.request_stop();
    all.start(on_reactor::keep(read_once(out, buffer, source.token()), got));
    all.join();
    CHECK(got->error() == errc::cancelled);
  }
  SECTION("during") {
    all.start(on_reactor::keep(read_once(out, buffer, source.token()), got));
    on_reactor::settle(*r);
    CHECK_FALSE(got);
    source.request_stop();
    CHECK_FALSE(got);
    all.join();
    CHECK(got->error() == errc::cancelled);
    CHECK(got->error().text() == "read a pipe");
  }
  SECTION("after") {
    all.start(on_reactor::keep(read_once(out, buffer, source.token()), got));
    REQUIRE(::write(in.get(), "xyz", 3) == 3);
    all.join();
    source.request_stop();
    CHECK(got->value() == 3);
  }
  SECTION("together with its data") {
    all.start(on_reactor::keep(read_once(out, buffer, source.token()), got));
    on_reactor::settle(*r);
    REQUIRE(::write(in.get(), "xyz", 3) == 3);
    source.request_stop();
    all.join();
    if (got->has_value()) {
      CHECK(got->value() == 3);
    } else {
      CHECK(got->error() == errc::cancelled);
    }
  }
}

TEST_CASE("a listing that is stopped while it runs ends all the same", "[reactor]") {
  const auto r = on_reactor::make();
  stop_source source;
  directory_listing names;
  std::optional<status> listed;
  on_reactor::group all(*r);
  const auto work = [](reactor& files, directory_listing& into, stop_token stop) -> task<status> {
    co_return co_await async_list(files, "/proc/self/fd", into, stop);
  };
  all.start(on_reactor::keep(work(*r, names, source.token()), listed));
  r->run_once(nanoseconds::zero());
  source.request_stop();
  all.join();
  CHECK(listed->has_value());
  CHECK(names.size() >= 3);
}

TEST_CASE("file operations work without coroutines", "[reactor]") {
  const scratch directory;
  const auto r = on_reactor::make();
  const std::string path = directory.path() + "/plain";
  recorder done;
  const auto wait = [&] {
    on_reactor::turn_until(*r, [&] { return !done.pending(); });
    return done.results.back();
  };
  r->open(AT_FDCWD, path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600, done);
  CHECK(done.results.empty());
  const int fd = wait();
  REQUIRE(fd >= 0);
  r->write(fd, bytes_of("abc"), 0, done);
  CHECK(wait() == 3);
  r->sync(fd, done);
  CHECK(wait() == 0);
  r->close_file(fd, done);
  CHECK(wait() == 0);
  r->unlink(path.c_str(), 0, done);
  CHECK(wait() == 0);
}
