#include "examples/shard_server/services/install.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/scoll/collective/cluster.hpp"
#include "tests/support/bytes.hpp"
#include "tests/transport/io/any_files.hpp"
#include "transport/wire/checksum.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using shard::install;
using shard::install_desk;
using shard::installed_files;
using testing::file_operation;

namespace {

constexpr std::uint32_t piece = 64 * 1024;
const std::string folder = "/disk";

/// One server: a disk of its own, in the virtual time of the cluster.
struct server {
  server(testing::virtual_executor& time, std::uint64_t capacity) : disk(1, capacity), files(time, disk) {
    REQUIRE(disk.make_directory(folder, 0755) == 0);
    installed = run(time, installed_files::open(files, folder)).value();
    desk = std::make_unique<install_desk>(*installed, board);
  }

  testing::sim_disk disk;
  testing::sim_file_system files;
  std::unique_ptr<installed_files> installed;
  shard::progress_board board;
  shard::maintenance_desk upkeep;
  std::unique_ptr<install_desk> desk;
};

/// Servers that install the file that the first of them has staged.
struct party {
  explicit party(std::uint32_t n, std::size_t size, const tree_spec& tree = knomial{2},
                 const std::function<std::uint64_t(std::uint32_t)>& capacity = {})
      : content(test::made(size, 9)), c(n) {
    for (std::uint32_t i = 0; i != n; ++i) {
      const std::uint64_t room = capacity ? capacity(i) : testing::sim_disk::no_limit;
      servers.emplace_back(c.ex, room);
      c[i].serve(install{&c[i], servers[i].desk.get(), &servers[i].upkeep}).value();
    }
    g = c.make_group<install>(0, tree);
    asked.name = "f";
    asked.bytes = content.size();
    asked.hash = wire::checksum(content);
    asked.run = 7;
  }

  /// Lets the root receive the file first, as the command does. False if its disk refuses.
  bool stage() {
    return run(c.ex,
               [](server& root, const std::vector<std::byte>& bytes, std::uint64_t number) -> task<bool> {
                 auto created = co_await root.installed->create("f");
                 if (!created) co_return false;
                 const auto whole = std::make_shared<shard::incoming_file>(std::move(*created));
                 const auto written = co_await root.installed->write(*whole, bytes);
                 if (!written) co_return false;
                 const auto staged = root.desk->stage(number, whole);
                 co_return staged.has_value();
               }(servers[0], content, asked.run));
  }
  bcast_options options() const {
    bcast_options o;
    o.bulk = content;
    o.bulk_piece_bytes = piece;
    return o;
  }
  /// The file of a server: "none", "old" or "new", or "other" if it is neither.
  std::string holds(std::uint32_t rank) {
    const auto found =
        run(c.ex, transport::read_file(servers[rank].files, folder + "/installed/f", content.size() + 1));
    if (!found) return "none";
    if (test::same(*found, content)) return "new";
    return std::ranges::equal(*found, std::as_bytes(std::span(old))) ? "old" : "other";
  }
  void give_old(std::uint32_t rank) {
    run(c.ex, [](installed_files& into, std::string text) -> task<> {
      auto created = co_await into.create("f");
      const auto bytes = std::as_bytes(std::span(text));
      (co_await into.write(*created, bytes)).value();
      (co_await into.commit(*created, bytes.size(), wire::checksum(bytes))).value();
    }(*servers[rank].installed, old));
  }
  /// The files that are half received.
  std::size_t incoming(std::uint32_t rank) {
    c.ex.run_for(1s);
    transport::directory_listing names;
    REQUIRE(servers[rank].disk.list(folder + "/incoming", names) == 0);
    return names.size();
  }

  const std::string old = "old";
  std::vector<std::byte> content;
  std::deque<server> servers;  // before the nodes, whose hooks use them
  test::virtual_cluster c;
  group<install> g;
  install::request asked;
};

}  // namespace

TEST_CASE("a file of any size is installed on every server", "[shard]") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{piece}, std::size_t{40 * piece + 5}}) {
    INFO(size << " bytes");
    party p(8, size);
    REQUIRE(p.stage());
    const auto r = p.c.bcast(p.g, p.asked, p.options());
    INFO(describe(r.outcome()));
    REQUIRE(r.ok());
    CHECK(r->servers.value == 8);
    CHECK(r->bytes.value == 8 * size);
    CHECK(r->hashes.values == std::vector<std::uint64_t>{p.asked.hash});
    run(p.c.ex, p.servers[0].desk->unstage(p.asked.run));
    for (std::uint32_t rank = 0; rank != 8; ++rank) {
      CHECK(p.holds(rank) == "new");
      CHECK(p.incoming(rank) == 0);
      CHECK(p.servers[rank].files.open_files() == 0);
    }
    CHECK(p.servers[3].board.find(p.asked.run)->done == 1);
    CHECK(p.c.quiet());
  }
}

TEST_CASE("a server whose disk is full keeps what it had, and the others install the file", "[shard]") {
  for (const std::uint32_t full : {1U, 4U, 7U}) {
    INFO("server " << full);
    party p(8, 20 * piece, knomial{2},
            [&](std::uint32_t rank) { return rank == full ? 7 * piece : testing::sim_disk::no_limit; });
    p.give_old(full);
    REQUIRE(p.stage());
    const auto r = p.c.bcast(p.g, p.asked, p.options());
    INFO(describe(r.outcome()));
    CHECK(r.outcome().merged().size() == 7);
    CHECK(r.outcome().why(full).where == phase::bulk);
    CHECK(r.outcome().why(full).what.detail() == ENOSPC);
    for (std::uint32_t rank = 0; rank != 8; ++rank) CHECK(p.holds(rank) == (rank == full ? "old" : "new"));
    CHECK(p.incoming(full) == 0);
  }
}

TEST_CASE("a server that fails at any step has the old file or the new one", "[shard]") {
  for (const auto kind :
       {file_operation::open, file_operation::write, file_operation::sync, file_operation::rename}) {
    for (std::uint32_t nth = 1; nth != 4; ++nth) {
      INFO("kind " << static_cast<int>(kind) << ", number " << nth);
      party p(5, 6 * piece);
      p.give_old(2);
      REQUIRE(p.stage());
      p.servers[2].files.fail(kind, nth, EIO);
      const auto r = p.c.bcast(p.g, p.asked, p.options());
      INFO(describe(r.outcome()));
      p.servers[2].files.heal();
      const bool merged = r.outcome().state(2) == member_state::merged;
      if (!merged) CHECK(r.outcome().state(2) == member_state::failed);
      if (merged) CHECK(p.holds(2) == "new");
      CHECK((p.holds(2) == "old" || p.holds(2) == "new"));
      for (const std::uint32_t rank : {0U, 1U, 3U, 4U}) CHECK(p.holds(rank) == "new");
      CHECK(p.incoming(2) == 0);
    }
  }
}

TEST_CASE("a file that has not the hash of the request is installed nowhere", "[shard]") {
  party p(4, 5 * piece);
  for (std::uint32_t rank = 0; rank != 4; ++rank) p.give_old(rank);
  REQUIRE(p.stage());
  ++p.asked.hash;
  const auto r = p.c.bcast(p.g, p.asked, p.options());
  CHECK(r.outcome().failed().size() == 4);
  run(p.c.ex, p.servers[0].desk->unstage(p.asked.run));
  for (std::uint32_t rank = 0; rank != 4; ++rank) {
    CHECK(r.outcome().why(rank).where == phase::execute);
    // The root does not try: nobody else has the file.
    CHECK(r.outcome().why(rank).what == (rank == 0 ? errc::cancelled : errc::checksum_mismatch));
    CHECK(p.holds(rank) == "old");
    CHECK(p.incoming(rank) == 0);
  }
}

TEST_CASE("the root keeps what it had if no other server takes the file", "[shard]") {
  party p(4, 5 * piece, knomial{2},
          [](std::uint32_t rank) { return rank == 0 ? testing::sim_disk::no_limit : 2 * piece; });
  p.give_old(0);
  REQUIRE(p.stage());
  const auto r = p.c.bcast(p.g, p.asked, p.options());
  INFO(describe(r.outcome()));
  CHECK(r.outcome().failed().size() == 4);
  CHECK(r.outcome().why(0).where == phase::execute);
  run(p.c.ex, p.servers[0].desk->unstage(p.asked.run));
  CHECK(p.holds(0) == "old");
  CHECK(p.incoming(0) == 0);
}

TEST_CASE("a second attempt reaches those that were below a dead server, and only they write", "[shard]") {
  // In this tree, 4 is above 5, 6 and 7.
  party p(8, 60 * piece);  // more than the slots of all servers on the way hold
  REQUIRE(p.stage());
  test::flight<install> first(p.c, p.g, p.asked, p.options());
  while (p.servers[4].board.find(p.asked.run) == nullptr ||
         p.servers[4].board.find(p.asked.run)->bytes < 3 * piece)
    p.c.ex.run_for(10us);
  p.c.kill(4);
  const outcome& before = first.land().outcome();
  INFO(describe(before));
  CHECK(before.merged() == rank_set{0, 1, 2, 3});
  CHECK(before.unknown() == rank_set{4, 5, 6, 7});
  const std::uint64_t operations = p.servers[1].files.operations();
  const auto second = p.c.bcast(p.g.only({0, 1, 5, 6, 7}), p.asked, p.options());
  INFO(describe(second.outcome()));
  CHECK(second.outcome().merged() == rank_set{0, 1, 5, 6, 7});
  CHECK(second->servers.value == 4);  // the root was counted before
  CHECK(p.servers[1].files.operations() == operations);
  run(p.c.ex, p.servers[0].desk->unstage(p.asked.run));
  for (const std::uint32_t rank : {0U, 1U, 2U, 3U, 5U, 6U, 7U}) {
    CHECK(p.holds(rank) == "new");
    CHECK(p.incoming(rank) == 0);
  }
  CHECK(p.holds(4) == "none");
}

TEST_CASE("two files of one name never mix", "[shard]") {
  party p(4, 12 * piece);
  const auto other_root = p.c.make_group<install>(3, knomial{2});
  REQUIRE(p.stage());
  std::vector<std::byte> other = test::made(12 * piece, 10);
  install::request other_asked = p.asked;
  other_asked.hash = wire::checksum(other);
  bcast_options options = p.options();
  options.bulk = other;
  test::flight<install> first(p.c, p.g, p.asked, p.options());
  while (p.servers[1].board.find(p.asked.run) == nullptr || p.servers[1].board.find(p.asked.run)->bytes == 0)
    p.c.ex.run_for(10us);
  test::flight<install> second(p.c, other_root, other_asked, options);
  INFO(describe(first.land().outcome()) << "; " << describe(second.land().outcome()));
  CHECK(first.land().ok());
  const outcome& refused = second.land().outcome();
  CHECK(refused.merged().empty());
  CHECK(refused.why(1).what == errc::busy);
  for (std::uint32_t rank = 0; rank != 4; ++rank) CHECK(p.holds(rank) == "new");
  for (std::uint32_t rank = 1; rank != 4; ++rank) CHECK(p.incoming(rank) == 0);
}

TEST_CASE("an installation that is stopped leaves every server as it was", "[shard]") {
  party p(6, 30 * piece);
  for (std::uint32_t rank = 0; rank != 6; ++rank) p.give_old(rank);
  REQUIRE(p.stage());
  stop_source stop;
  bcast_options options = p.options();
  options.stop = stop.token();
  test::flight<install> stopped(p.c, p.g, p.asked, options);
  while (p.servers[5].board.find(p.asked.run) == nullptr || p.servers[5].board.find(p.asked.run)->bytes == 0)
    p.c.ex.run_for(10us);
  stop.request_stop();
  CHECK(stopped.land().status().error() == errc::cancelled);
  run(p.c.ex, p.servers[0].desk->unstage(p.asked.run));
  for (std::uint32_t rank = 0; rank != 6; ++rank) {
    CHECK(p.holds(rank) == "old");
    CHECK(p.incoming(rank) == 0);
    CHECK(p.servers[rank].files.open_files() == 0);
  }
}
