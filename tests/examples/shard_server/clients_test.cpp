#include "examples/shard_server/services/clients.hpp"

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "examples/shard_server/clients/client_desk.hpp"
#include "scoll/coro/scope.hpp"
#include "tests/transport/io/any_files.hpp"
#include "transport/session/greeting.hpp"
#include "transport/wire/checksum.hpp"

using namespace files_for_tests;
using shard::client_desk;
using shard::client_list;
using shard::eviction;
using shard::eviction_list;
using shard::object_reply;
using shard::object_request;
using shard::object_step;

namespace {

constexpr node_id evil = client_bit | 7, good = client_bit | 8;

std::unique_ptr<eviction_list> open_list(sim_host& h) {
  auto opened = h.get(eviction_list::open(h.files(), h.directory()));
  return opened ? std::move(*opened) : nullptr;
}

status add(sim_host& h, eviction_list& list, node_id client, std::string note = "why") {
  return h.get(list.add(client, {1, std::move(note)}));
}

/// One life of a server, as far as clients see it.
struct one_server {
  explicit one_server(sim_host& h)
      : store(h.get(shard::object_store::open(h.files(), h.directory())).value()),
        objects(*store, upkeep),
        desk(open_list(h), objects) {}

  task<result<object_reply>> step(node_id client, object_step what, std::string bytes = {},
                                  std::uint64_t offset = 0) {
    object_request asked;
    asked.step = what;
    asked.name = "object of " + std::to_string(client);
    asked.upload = 1;
    asked.offset = offset;
    asked.hash = wire::checksum(bytes_of(bytes));
    asked.bytes.assign(bytes_of(bytes).begin(), bytes_of(bytes).end());
    co_return co_await desk.serve(client, asked, {});
  }

  std::unique_ptr<shard::object_store> store;
  shard::maintenance_desk upkeep;
  shard::object_desk objects;
  client_desk desk;
};

}  // namespace

TEST_CASE("an evicted client is refused with the reason, and others are served") {
  sim_host h;
  one_server s(h);
  for (const node_id each : {evil, good}) {
    REQUIRE(h.get(s.step(each, object_step::begin)));
    REQUIRE(h.get(s.step(each, object_step::write, "half")));
  }
  CHECK(s.desk.uploads().size() == 2);
  const auto ended = h.get(s.desk.evict(evil, {3, "its lease is over"}));
  REQUIRE(ended);
  CHECK(ended->uploads == 1);
  CHECK(ended->calls == 0);
  CHECK(s.desk.uploads().size() == 1);
  for (const object_step each : {object_step::begin, object_step::write, object_step::commit,
                                 object_step::locate, object_step::read, object_step::abandon}) {
    const auto refused = h.get(s.step(evil, each));
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::not_authorised);
    CHECK(refused.error().text() ==
          "client " + std::to_string(evil) + " is evicted, by node 3: its lease is over");
  }
  CHECK(h.get(s.step(good, object_step::commit, "half")));
  REQUIRE(h.get(s.desk.admit(evil)));
  CHECK(h.get(s.step(evil, object_step::write)).error() == errc::not_found);  // the upload is gone for good
  CHECK(h.get(s.step(evil, object_step::begin)));
  CHECK(h.get(s.desk.evict(3, {})).error() == errc::invalid_argument);
}

TEST_CASE("what a client has under way ends before its eviction does") {
  sim_host h;
  one_server s(h);
  REQUIRE(h.get(s.step(evil, object_step::begin)));
  std::vector<std::string> order;
  const auto write = [&]() -> task<void> {
    const auto written = co_await s.step(evil, object_step::write, std::string(10 << 20, 'x'));
    order.push_back(written ? "written" : std::string(to_string(written.error().code())));
  };
  const auto evict = [&]() -> task<void> {
    eviction why{1, ""};
    const auto ended = co_await s.desk.evict(evil, std::move(why));
    order.push_back(ended ? "evicted, calls: " + std::to_string(ended->calls) : "not evicted");
  };
  const auto late = [&]() -> task<void> {
    const auto refused = co_await s.step(evil, object_step::commit);
    order.push_back(refused ? "committed" : std::string(to_string(refused.error().code())));
  };
  const auto all = [&]() -> task<void> {
    scope work;
    work.spawn(write());
    work.spawn(evict());
    work.spawn(late());
    co_await work.join();
  };
  h.run(all());
  CHECK(order == std::vector<std::string>{"not_authorised", "written", "evicted, calls: 1"});
}

TEST_CASE("an eviction that was answered survives a crash at any point, and so does an admission") {
  std::uint64_t operations = 0;
  const auto work = [](sim_host& h, bool& evicted, bool& admitted) {
    const auto list = open_list(h);
    if (list == nullptr || !add(h, *list, good)) return;
    evicted = add(h, *list, evil, "kept").has_value();
    if (evicted) admitted = h.get(list->remove(good)).has_value();
  };
  {
    sim_host h;
    bool evicted = false, admitted = false;
    work(h, evicted, admitted);
    REQUIRE(admitted);
    operations = h.files().operations();
  }
  for (std::uint64_t at = 1; at <= operations + 1; ++at) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      INFO("crash in operation " << at << ", seed " << seed);
      sim_host h(seed);
      bool evicted = false, admitted = false;
      h.files().crash_at(at);
      work(h, evicted, admitted);
      h.crash();
      const auto list = open_list(h);
      REQUIRE(list != nullptr);
      if (evicted) REQUIRE((list->find(evil) != nullptr && list->find(evil)->note == "kept"));
      if (admitted) REQUIRE(list->find(good) == nullptr);
    }
  }
}

TEST_CASE("an eviction that the disk refuses holds for this life, and says that it is not kept") {
  sim_host h;
  {
    one_server s(h);
    h.files().fail(file_operation::rename, 1, EIO);
    CHECK(h.get(s.desk.evict(evil, {})).error() == errc::io_error);
    CHECK(h.get(s.step(evil, object_step::locate)).error() == errc::not_authorised);
    h.files().heal();
    CHECK(h.get(s.desk.evict(evil, {})));  // to be repeated
    h.files().fail(file_operation::rename, 1, EIO);
    CHECK(h.get(s.desk.admit(evil)).error() == errc::io_error);
    CHECK(h.get(s.step(evil, object_step::locate)).error() == errc::not_authorised);
    h.files().heal();
  }
  h.crash();
  CHECK(open_list(h)->find(evil) != nullptr);
}

TEST_CASE("a server does not start with a damaged list of evictions, and keeps only so many") {
  sim_host h;
  {
    const auto list = open_list(h);
    for (std::uint64_t i = 0; i < eviction_list::most; ++i)
      REQUIRE(add(h, *list, client_bit | i, std::string(eviction_list::longest_note, 'n')));
    CHECK(add(h, *list, client_bit | eviction_list::most).error() == errc::busy);
    CHECK(add(h, *list, client_bit | 1));  // evicted already
  }
  CHECK(open_list(h)->all().size() == eviction_list::most);
  REQUIRE(h.disk().damage(h / "evicted", 40));
  const auto opened = h.get(eviction_list::open(h.files(), h.directory()));
  REQUIRE_FALSE(opened);
  CHECK(opened.error() == errc::checksum_mismatch);
}

TEST_CASE("lists of clients add up, and are cut to what fits a reply") {
  client_list a{{{1, 1, 0, "first"}, {3, 0, 2, ""}}, false};
  const client_list b{{{2, 1, 0, "x"}, {3, 1, 1, "third"}}, false};
  a.merge(b);
  REQUIRE(a.each.size() == 3);
  CHECK(a.each[2].refused_by == 1);
  CHECK(a.each[2].uploads == 3);
  CHECK(a.each[2].note == "third");
  client_list many;
  for (std::uint64_t i = 0; i != client_list::most; ++i) many.each.push_back({100 + i, 1, 0, ""});
  a.merge(many);
  CHECK(a.cut);
  CHECK(a.each.size() == client_list::most);
  CHECK(a.each.front().client == 1);
}
