#include "examples/shard_server/epochs/epoch_member.hpp"

#include <cerrno>

#include "tests/transport/io/any_files.hpp"

using namespace files_for_tests;
using shard::committed_epoch;
using shard::epoch_file;
using shard::epoch_member;
using shard::epoch_reply;
using shard::epoch_request;
using shard::epoch_step;

namespace {

std::unique_ptr<epoch_member> open_member(sim_host& h) {
  auto opened = h.get(epoch_member::open(std::make_unique<epoch_file>(h.files(), h.directory())));
  if (!opened) return nullptr;
  return std::move(*opened);
}

epoch_request step_of(epoch_step step, std::uint64_t round, std::uint64_t known = 0) {
  epoch_request r;
  r.step = step;
  r.under = {round, 7, 1};
  r.known.epoch = known;
  r.content.note = "round " + std::to_string(round);
  return r;
}

result<epoch_reply> ask(sim_host& h, epoch_member& m, const epoch_request& r) {
  return h.get(m.handle(r));
}

}  // namespace

TEST_CASE("a server that has promised an attempt votes in no earlier one, in its next life either",
          "[epochs]") {
  sim_host h;
  {
    const auto m = open_member(h);
    REQUIRE(ask(h, *m, step_of(epoch_step::prepare, 5)));
    CHECK(ask(h, *m, step_of(epoch_step::prepare, 5)).error() == errc::stale);
    CHECK(ask(h, *m, step_of(epoch_step::decide, 4)).error() == errc::stale);
  }
  h.crash();
  const auto m = open_member(h);
  CHECK(ask(h, *m, step_of(epoch_step::prepare, 4)).error() == errc::stale);
  CHECK(ask(h, *m, step_of(epoch_step::decide, 4)).error() == errc::stale);
  REQUIRE(ask(h, *m, step_of(epoch_step::decide, 5)));
  CHECK(m->must_ask());
  h.crash();
  const auto next = open_member(h);
  const auto known = ask(h, *next, step_of(epoch_step::look, 0));
  REQUIRE(known->open_vote() != nullptr);
  CHECK(known->open_vote()->content.note == "round 5");
}

TEST_CASE("a server goes to an epoch that is decided, and never back", "[epochs]") {
  sim_host h;
  const auto m = open_member(h);
  REQUIRE(ask(h, *m, step_of(epoch_step::decide, 1)));
  REQUIRE(ask(h, *m, step_of(epoch_step::commit, 0, 1)));
  CHECK_FALSE(m->state().vote.has_value());
  REQUIRE(ask(h, *m, step_of(epoch_step::commit, 0, 3)));
  REQUIRE(ask(h, *m, step_of(epoch_step::commit, 0, 2)));
  CHECK(m->state().committed.epoch == 3);
  CHECK(m->passed(1) != nullptr);
  CHECK(m->passed(2) == nullptr);
  // A vote for an epoch that is over is refused, and the promise stays.
  CHECK(ask(h, *m, step_of(epoch_step::decide, 9, 2)).error() == errc::stale);
  h.crash();
  CHECK(open_member(h)->state().committed.epoch == 3);
}

TEST_CASE("a server whose disk fails keeps the state that it has, and goes on when the disk does",
          "[epochs]") {
  sim_host h;
  const auto m = open_member(h);
  REQUIRE(ask(h, *m, step_of(epoch_step::prepare, 1)));
  for (const auto kind :
       {file_operation::open, file_operation::write, file_operation::sync, file_operation::rename}) {
    h.files().fail(kind, 1, EIO);
    const auto before = m->state();
    CHECK(ask(h, *m, step_of(epoch_step::prepare, 2)).error() == errc::io_error);
    CHECK(m->state() == before);
    h.files().heal();
  }
  REQUIRE(ask(h, *m, step_of(epoch_step::prepare, 2)));
  CHECK(m->state().promised.round == 2);
}

TEST_CASE("a server does not start with a damaged vote", "[epochs]") {
  sim_host h;
  REQUIRE(ask(h, *open_member(h), step_of(epoch_step::decide, 1)));
  for (const std::size_t at : {0U, 5U, 40U}) {
    REQUIRE(h.disk().damage(h / "epoch", at));
    const auto opened = h.get(epoch_member::open(std::make_unique<epoch_file>(h.files(), h.directory())));
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error() == errc::checksum_mismatch);
    REQUIRE(h.disk().damage(h / "epoch", at));  // the bit flips back
  }
  CHECK(open_member(h) != nullptr);
}

TEST_CASE("a server that has run before does not start without its vote", "[epochs]") {
  sim_host h;
  REQUIRE(h.get(transport::replace_file(h.files(), h / "incarnation", {})));
  const auto opened = h.get(epoch_member::open(std::make_unique<epoch_file>(h.files(), h.directory())));
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error() == errc::not_found);
}

TEST_CASE("the state of a new server is on its disk before it answers anything", "[epochs]") {
  sim_host h;
  REQUIRE(open_member(h) != nullptr);
  h.crash();
  REQUIRE(h.get(transport::replace_file(h.files(), h / "incarnation", {})));
  CHECK(open_member(h) != nullptr);
}
