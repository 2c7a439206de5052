#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "coro/error_format.hpp"
#include "on_reactor.hpp"
#include "transport/io_awaitables.hpp"

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::transport;
using Catch::Matchers::Contains;
using on_reactor::recorder;

namespace {

// A directory that is gone when the test is over.
class scratch {
 public:
  scratch() {
    const char* const base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/scoll-file-test-XXXXXX";
    REQUIRE(mkdtemp(path_.data()) != nullptr);
  }
  ~scratch() { ::rmdir(path_.c_str()); }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

task<> life_of_a_file(file_engine& files, const scratch& directory) {
  const std::string first = directory / "first", second = directory / "second", folder = directory / "folder";
  auto opened = co_await async_open(files, first.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
  REQUIRE(opened);
  const unique_fd fd = std::move(*opened);
  const std::string text = "the quick brown fox";
  auto written = co_await async_write(files, fd.get(), bytes_of(text), 0);
  CHECK(written.value() == text.size());
  auto appended = co_await async_write(files, fd.get(), bytes_of(text), 1000);
  CHECK(appended.value() == text.size());
  const auto synced = co_await async_sync(files, fd.get());
  CHECK(synced);

  std::string back(text.size(), '?');
  auto got = co_await async_read(files, fd.get(), std::as_writable_bytes(std::span(back)), 1000);
  CHECK(got.value() == text.size());
  CHECK(back == text);
  auto tail = co_await async_read(files, fd.get(), std::as_writable_bytes(std::span(back)), 1015);
  CHECK(tail.value() == 4);
  auto nothing = co_await async_read(files, fd.get(), std::as_writable_bytes(std::span(back)), 5000);
  CHECK(nothing.value() == 0);

  struct statx info;
  std::memset(&info, 0, sizeof info);
  const auto looked = co_await async_status(files, first.c_str(), info);
  CHECK(looked);
  CHECK(info.stx_size == 1000 + text.size());
  CHECK((info.stx_mode & 0777) == 0640);

  const auto renamed = co_await async_rename(files, first.c_str(), second.c_str());
  CHECK(renamed);
  const auto gone = co_await async_status(files, first.c_str(), info);
  CHECK(gone.error().detail() == ENOENT);
  const auto made = co_await async_make_directory(files, folder.c_str());
  CHECK(made);
  const auto again = co_await async_make_directory(files, folder.c_str());
  CHECK(again.error().detail() == EEXIST);
  const auto no_file = co_await async_unlink(files, folder.c_str());
  CHECK_FALSE(no_file);
  const auto folder_gone = co_await async_unlink(files, folder.c_str(), AT_REMOVEDIR);
  CHECK(folder_gone);
  const auto file_gone = co_await async_unlink(files, second.c_str());
  CHECK(file_gone);
}

task<> failures(file_engine& files, const scratch& directory) {
  const std::string missing = directory / "missing";
  const auto opened = co_await async_open(files, missing.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE_FALSE(opened);
  CHECK_THAT(describe(opened.error()), Contains("open " + missing.substr(0, 40)) && Contains("No such file"));
  const auto removed = co_await async_unlink(files, missing.c_str());
  REQUIRE_FALSE(removed);
  CHECK_THAT(describe(removed.error()), Contains("unlink /"));
  const auto renamed = co_await async_rename(files, missing.c_str(), missing.c_str());
  CHECK(renamed.error().detail() == ENOENT);
  std::byte buffer[8];
  auto got = co_await async_read(files, -1, buffer, 0);
  CHECK(got.error().detail() == EBADF);
  const auto closed = co_await async_close(files, -1);
  CHECK(closed.error().detail() == EBADF);
}

task<> whole_file(file_engine& files, const scratch& directory, std::size_t size) {
  const std::string path = directory / "large";
  std::vector<std::byte> out(size), in(size);
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<std::byte>(i * 31 >> 3);
  auto opened = co_await async_open(files, path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC);
  REQUIRE(opened);
  for (std::size_t at = 0; at < size;) {
    auto written = co_await async_write(files, opened->get(), std::span(out).subspan(at), at);
    REQUIRE(written);
    at += *written;
  }
  for (std::size_t at = 0; at < size;) {
    auto got = co_await async_read(files, opened->get(), std::span(in).subspan(at), at);
    REQUIRE(got);
    at += *got;
  }
  CHECK(in == out);
  const auto closed = co_await async_close(files, opened->release());
  CHECK(closed);
  const auto removed = co_await async_unlink(files, path.c_str());
  CHECK(removed);
}

task<result<std::size_t>> read_once(file_engine& files, int fd, std::span<std::byte> into, stop_token stop) {
  auto got = co_await async_read(files, fd, into, 0, stop);
  co_return got;
}

}  // namespace

TEST_CASE("a file is created, written, read, renamed and removed") {
  const std::uint32_t disable = on_reactor::any_setup();
  const int before = on_reactor::open_descriptors();
  {
    const scratch directory;
    const auto r = on_reactor::make({.disable = disable});
    on_reactor::run(*r, life_of_a_file(*r, directory));
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("failed file operations name the path and the errno") {
  const scratch directory;
  const auto r = on_reactor::make();
  on_reactor::run(*r, failures(*r, directory));
}

TEST_CASE("a large file goes out and comes back whole") {
  const scratch directory;
  const auto r = on_reactor::make();
  on_reactor::run(*r, whole_file(*r, directory, 5'000'000));
}

TEST_CASE("a read can be stopped before, during and after") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const unique_fd out(ends[0]), in(ends[1]);
  std::byte buffer[16];
  stop_source source;
  std::optional<result<std::size_t>> got;
  on_reactor::group all(*r);
  SECTION("before") {
    source.request_stop();
    all.start(on_reactor::keep(read_once(*r, out.get(), buffer, source.token()), got));
    all.join();
    CHECK(got->error() == errc::cancelled);
  }
  SECTION("during") {
    all.start(on_reactor::keep(read_once(*r, out.get(), buffer, source.token()), got));
    on_reactor::settle(*r);
    CHECK_FALSE(got);
    source.request_stop();
    CHECK_FALSE(got);
    all.join();
    CHECK(got->error() == errc::cancelled);
    CHECK(got->error().text() == "read");
  }
  SECTION("after") {
    all.start(on_reactor::keep(read_once(*r, out.get(), buffer, source.token()), got));
    REQUIRE(::write(in.get(), "xyz", 3) == 3);
    all.join();
    source.request_stop();
    CHECK(got->value() == 3);
  }
  SECTION("together with its data") {
    all.start(on_reactor::keep(read_once(*r, out.get(), buffer, source.token()), got));
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

TEST_CASE("file operations work without coroutines") {
  const scratch directory;
  const auto r = on_reactor::make();
  const std::string path = directory / "plain";
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
