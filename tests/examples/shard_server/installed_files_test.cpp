#include "examples/shard_server/store/installed_files.hpp"

#include <cerrno>
#include <string>
#include <vector>

#include "tests/transport/io/any_files.hpp"
#include "transport/io/file.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/wire/checksum.hpp"

using namespace files_for_tests;
using shard::incoming_file;
using shard::installed_files;

namespace {

std::unique_ptr<installed_files> open_files(sim_host& h) {
  auto opened = h.get(installed_files::open(h.files(), h.directory()));
  if (!opened) return nullptr;
  return std::move(*opened);
}

task<status> receive(installed_files& into, std::string name, std::string content) {
  auto incoming = co_await into.create(std::move(name));
  if (!incoming) co_return incoming.error();
  const auto half = bytes_of(content).first(content.size() / 2);
  const auto first = co_await into.write(*incoming, half);
  if (!first) co_return first;
  const auto second = co_await into.write(*incoming, bytes_of(content).subspan(half.size()));
  if (!second) co_return second;
  co_return co_await into.commit(*incoming, content.size(), wire::checksum(bytes_of(content)));
}

/// The content of an installed file; "none" if there is no such file.
std::string content_of(sim_host& h, const std::string& name) {
  const auto content = h.get(read_file(h.files(), h / "installed/" + name, 1 << 20));
  return content ? text_of(*content) : "none";
}

std::vector<std::string> names_in(sim_host& h, const std::string& folder) {
  return h.get([](file_system& files, std::string path) -> task<std::vector<std::string>> {
    directory_listing all;
    const auto listed = co_await async_list(files, path.c_str(), all);
    REQUIRE(listed);
    std::vector<std::string> names;
    for (const directory_entry& each : all) names.push_back(each.name);
    co_return names;
  }(h.files(), h / folder));
}

/// What a client knows: the contents whose installation was answered, and one that was not.
struct knowledge {
  std::string safe = "none";
  std::string maybe = "none";
};

/// Installs files of one name, each in the place of the one before, and stops at the first that fails.
task<> work(installed_files& into, knowledge& known) {
  const std::vector<std::string> contents{"first", std::string(2500, 'b'), "", std::string(1500, 'd')};
  for (const std::string& content : contents) {
    known.maybe = content;
    const auto done = co_await receive(into, "f", content);
    if (!done) co_return;
    known.safe = content;
  }
}

}  // namespace

TEST_CASE("an installed file has the content of the last commit") {
  sim_host h;
  knowledge known;
  {
    const auto files = open_files(h);
    h.run(work(*files, known));
    REQUIRE(h.get(receive(*files, "g", "other")));
    CHECK(files->path_of("g") == h / "installed/g");
  }
  h.restart();
  const auto files = open_files(h);
  CHECK(files->leftovers_removed() == 0);
  CHECK(content_of(h, "f") == std::string(1500, 'd'));
  CHECK(content_of(h, "g") == "other");
  CHECK(h.files().open_files() == 0);
}

TEST_CASE("a crash at any point leaves the old file or the new one, and no leftover stays") {
  std::uint64_t operations = 0;
  {
    sim_host h;
    knowledge known;
    const auto files = open_files(h);
    h.run(work(*files, known));
    operations = h.files().operations();
  }
  REQUIRE(operations > 30);
  std::uint64_t leftovers = 0, replaced = 0, kept = 0;
  for (std::uint64_t at = 1; at <= operations; ++at) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      INFO("crash in operation " << at << ", seed " << seed);
      sim_host h(seed);
      knowledge known;
      h.files().crash_at(at);
      if (const auto files = open_files(h)) h.run(work(*files, known));
      REQUIRE(h.files().crashed());
      h.restart();
      const auto files = open_files(h);
      REQUIRE(files != nullptr);
      leftovers += files->leftovers_removed();
      const std::string found = content_of(h, "f");
      REQUIRE((found == known.safe || found == known.maybe));
      kept += found == known.safe;
      replaced += found != known.safe;
      REQUIRE(names_in(h, "incoming").empty());
      REQUIRE(h.get(receive(*files, "f", "after the crash")));
      h.crash();
      REQUIRE(content_of(h, "f") == "after the crash");
    }
  }
  CHECK(leftovers > 0);
  CHECK(replaced > 0);
  CHECK(kept > 0);
}

TEST_CASE("an operation that fails leaves the old file or the new one") {
  for (const auto kind : {file_operation::open, file_operation::write, file_operation::sync,
                          file_operation::rename, file_operation::close}) {
    for (std::uint32_t nth = 1; nth <= 8; ++nth) {
      INFO("kind " << static_cast<int>(kind) << ", number " << nth);
      sim_host h(nth);
      knowledge known;
      {
        const auto files = open_files(h);
        h.files().fail(kind, nth, EIO);
        h.run(work(*files, known));
        h.files().heal();
      }
      h.crash();
      REQUIRE(open_files(h) != nullptr);
      const std::string found = content_of(h, "f");
      REQUIRE((found == known.safe || found == known.maybe));
      REQUIRE(names_in(h, "incoming").empty());
    }
  }
}

TEST_CASE("a file of another hash or size is not installed") {
  sim_host h;
  const auto files = open_files(h);
  REQUIRE(h.get(receive(*files, "f", "good")));
  auto incoming = h.get(files->create("f"));
  REQUIRE(incoming);
  REQUIRE(h.get(files->write(*incoming, bytes_of("bad!"))));
  const std::uint64_t hash = wire::checksum(bytes_of("bad!"));
  CHECK(h.get(files->commit(*incoming, 4, hash + 1)).error() == errc::checksum_mismatch);
  CHECK(h.get(files->commit(*incoming, 5, hash)).error() == errc::checksum_mismatch);
  CHECK(content_of(h, "f") == "good");
  h.run(files->remove(std::make_shared<incoming_file>(std::move(*incoming))));
  CHECK(names_in(h, "incoming").empty());
  REQUIRE(h.get(receive(*files, "f", "bad!")));
  CHECK(content_of(h, "f") == "bad!");
}

TEST_CASE("a full disk refuses the parts of a file, and takes the next one when that is removed") {
  sim_host h(1, {}, 8 * 512);
  const auto files = open_files(h);
  REQUIRE(h.get(receive(*files, "f", "old")));
  auto incoming = h.get(files->create("f"));
  REQUIRE(incoming);
  const std::string part(1024, 'x');
  status written;
  while (written) written = h.get(files->write(*incoming, bytes_of(part)));
  CHECK(written.error().detail() == ENOSPC);
  h.run(files->remove(std::make_shared<incoming_file>(std::move(*incoming))));
  CHECK(content_of(h, "f") == "old");
  REQUIRE(h.get(receive(*files, "f", part + part)));
  CHECK(content_of(h, "f") == part + part);
}

TEST_CASE("an installed file has a name that is safe in a folder") {
  const std::vector<std::string> good{"a", "kernel-6.1_amd64.tar.gz", "A=b,c+d@e", std::string(128, 'n')};
  for (const std::string& name : good) CHECK(shard::check_installed_name(name));
  const std::vector<std::string> bad{
      "", ".", "..", ".hidden", "a/b", "../a", "a b", "ä", std::string(129, 'n'), std::string("a\0b", 3)};
  for (const std::string& name : bad)
    CHECK(shard::check_installed_name(name).error() == errc::invalid_argument);
}
