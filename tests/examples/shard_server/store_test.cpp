#include <cerrno>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "examples/shard_server/store/object_store.hpp"
#include "tests/transport/io/any_files.hpp"
#include "transport/io/file.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/wire/checksum.hpp"

using namespace files_for_tests;
using shard::durability;
using shard::object_store;

namespace {

/// A client's knowledge of one object: the puts that were answered, and later ones that were not.
struct object_knowledge {
  std::string content;             ///< content of the last put that was answered
  std::vector<std::string> maybe;  ///< contents of later puts that failed
  bool durable = false;
};
using known_objects = std::map<std::string, object_knowledge>;

task<status> put(object_store& store, std::string name, std::string content, durability how) {
  auto object = co_await store.create(std::move(name));
  if (!object) co_return object.error();
  const auto half = bytes_of(content).first(content.size() / 2);
  const auto first = co_await store.write(*object, half);
  if (!first) co_return first;
  const auto second = co_await store.write(*object, bytes_of(content).subspan(half.size()));
  if (!second) co_return second;
  co_return co_await store.commit(*object, wire::checksum(bytes_of(content)), how);
}

task<status> put_known(object_store& store, known_objects& known, std::string name, std::string content,
                       durability how) {
  const auto done = co_await put(store, name, content, how);
  object_knowledge& k = known[name];
  if (done) {
    const bool replaces = !k.content.empty();
    k = {content, {}, how == durability::disk || replaces};
  } else {
    k.maybe.push_back(content);
  }
  co_return done;
}

/// Does puts of several sizes that replace each other. Stops at the first that fails.
task<> work(object_store& store, known_objects& known) {
  const auto big = [](char c) { return std::string(2500, c); };
  const struct {
    const char* name;
    std::string content;
    durability how;
  } puts[] = {{"a", "first", durability::disk},   {"b", big('b'), durability::disk},
              {"a", big('a'), durability::disk},  {"c", "unsafe", durability::page_cache},
              {"a", "x", durability::page_cache}, {"d/e", "other", durability::disk}};
  for (const auto& p : puts) {
    const auto done = co_await put_known(store, known, p.name, p.content, p.how);
    if (!done) co_return;
  }
}

std::unique_ptr<object_store> open_store(sim_host& h) {
  auto opened = h.get(object_store::open(h.files(), h.directory()));
  if (!opened) return nullptr;
  return std::move(*opened);
}

/// Returns an empty text unless the content differs from its record.
task<std::string> content_of(object_store& store, shard::object_record record) {
  const auto content = co_await read_file(store.files(), store.file_of(record), 1 << 20);
  if (!content || content->size() != record.size || wire::checksum(*content) != record.hash)
    co_return std::string();
  co_return text_of(*content);
}

std::size_t files_below(sim_host& h, const std::string& folder) {
  return h.get([](file_system& files, std::string top) -> task<std::size_t> {
    std::size_t count = 0;
    directory_listing all;
    const auto listed = co_await async_list(files, top.c_str(), all);
    REQUIRE(listed);
    for (const directory_entry& each : all) {
      const std::string path = top + "/" + each.name;
      directory_listing names;
      const auto more = co_await async_list(files, path.c_str(), names);
      REQUIRE(more);
      count += names.size();
    }
    co_return count;
  }(h.files(), folder));
}

/// Checks that nothing safe is lost, that every object was really put, and that no file is left over.
void check(sim_host& h, const known_objects& known) {
  const auto store = open_store(h);
  REQUIRE(store != nullptr);
  for (const auto& [name, k] : known) {
    INFO("object " << name);
    const shard::object_record* const found = store->find(name);
    if (found == nullptr) {
      REQUIRE_FALSE(k.durable);
      continue;
    }
    const std::string content = h.get(content_of(*store, *found));
    const bool attempted = std::find(k.maybe.begin(), k.maybe.end(), content) != k.maybe.end();
    if (k.durable) REQUIRE((content == k.content || (attempted && !content.empty())));
  }
  REQUIRE(files_below(h, h / "objects") <= store->objects());  // an unsafe object may have no file
  const auto again = h.get(put(*store, "a", "new", durability::disk));
  REQUIRE(again);
}

}  // namespace

TEST_CASE("a store keeps what it was given") {
  sim_host h;
  known_objects known;
  {
    const auto store = open_store(h);
    h.run(work(*store, known));
    CHECK(store->objects() == 4);
  }
  h.restart();
  const auto store = open_store(h);
  REQUIRE(known.size() == 4);
  for (const auto& [name, k] : known) CHECK(h.get(content_of(*store, *store->find(name))) == k.content);
  CHECK(store->orphans_removed() == 0);
  CHECK(store->torn_index_bytes() == 0);
  CHECK(files_below(h, h / "objects") == 4);
}

TEST_CASE("a store loses nothing that was safe, at every crash point") {
  std::uint64_t operations = 0;
  {
    sim_host h;
    known_objects known;
    const auto store = open_store(h);
    h.run(work(*store, known));
    operations = h.files().operations();
  }
  REQUIRE(operations > 50);
  std::uint64_t torn = 0, orphans = 0;
  for (std::uint64_t at = 1; at <= operations; ++at) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      INFO("crash in operation " << at << ", seed " << seed);
      sim_host h(seed);
      known_objects known;
      h.files().crash_at(at);
      if (const auto store = open_store(h)) h.run(work(*store, known));
      REQUIRE(h.files().crashed());
      h.restart();
      if (const auto store = open_store(h)) {
        torn += store->torn_index_bytes();
        orphans += store->orphans_removed();
      }
      check(h, known);
      h.crash();
      known["a"] = {"new", {}, true};
      check(h, known);
    }
  }
  CHECK(torn > 0);
  CHECK(orphans > 0);
}

TEST_CASE("a store survives every operation failing once, in this life and the next") {
  for (const auto kind : {file_operation::open, file_operation::write, file_operation::sync,
                          file_operation::close, file_operation::unlink, file_operation::make_directory}) {
    for (std::uint32_t nth = 1; nth <= 20; ++nth) {
      INFO("kind " << static_cast<int>(kind) << ", number " << nth);
      sim_host h(nth);
      known_objects known;
      {
        const auto store = open_store(h);
        REQUIRE(store != nullptr);
        h.files().fail(kind, nth, EIO);
        h.run(work(*store, known));
        h.files().heal();
        for (const auto& [name, k] : known) {
          const auto* found = store->find(name);
          if (k.content.empty()) continue;
          REQUIRE(found != nullptr);
          REQUIRE(h.get(content_of(*store, *found)) == k.content);
        }
        REQUIRE(h.get(store->create("z")).has_value());  // removes abandoned files
      }
      h.restart();
      check(h, known);
      h.crash();
      known["a"] = {"new", {}, true};
      check(h, known);
    }
  }
}

TEST_CASE("records behind one that is torn stay away when others take their place") {
  sim_host h;
  {
    const auto store = open_store(h);
    REQUIRE(h.get(put(*store, "a", "1", durability::disk)));
    REQUIRE(h.get(put(*store, "b", "1", durability::disk)));
  }
  REQUIRE(h.disk().damage(h / "index.log", 20));
  {
    const auto store = open_store(h);
    CHECK(store->torn_index_bytes() > 0);
    CHECK(store->objects() == 0);
    REQUIRE(h.get(put(*store, "c", "1", durability::disk)));  // a record as long as a's
  }
  const auto store = open_store(h);
  CHECK(store->objects() == 1);
  CHECK(store->find("c") != nullptr);
}

TEST_CASE("a full disk refuses puts and keeps what is there") {
  sim_host h(1, {}, 16 * 512);
  const auto store = open_store(h);
  REQUIRE(h.get(put(*store, "a", "content", durability::disk)));
  const std::string large(20'000, 'x');
  for (int i = 0; i < 5; ++i)
    CHECK(h.get(put(*store, "b", large, durability::disk)).error().detail() == ENOSPC);
  CHECK(h.get(content_of(*store, *store->find("a"))) == "content");
  CHECK(store->find("b") == nullptr);
  CHECK(h.get(put(*store, "c", "small", durability::disk)));
  CHECK(files_below(h, h / "objects") == 2);
}
