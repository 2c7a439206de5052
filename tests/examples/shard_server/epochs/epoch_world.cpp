#include "epoch_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "tests/catch.hpp"

namespace shard_tests {

using namespace scoll;
using namespace shard;
using namespace std::chrono_literals;
using testing::sim_disk;
using testing::sim_file_system;

namespace {

const std::string folder = "/disk";

/// A vote stays in memory until the state changes once more.
class unsynced_file final : public epoch_store {
 public:
  unsynced_file(transport::file_system& files, const std::string& where) : whole_(files, where) {}
  task<result<epoch_state>> load() override { return whole_.load(); }
  task<status> keep(const epoch_state& state) override {
    if (state.vote) co_return status{};
    co_return co_await whole_.keep(state);
  }

 private:
  epoch_file whole_;
};

}  // namespace

/// The answers to one request.
struct epoch_world::ballot_box {
  std::uint32_t wanted = 0;
  std::uint32_t open = 0;  ///< servers that have not answered
  std::uint32_t done = 0;
  epoch_reply known;
  event ended;

  void answer(const result<epoch_reply>& from) {
    --open;
    if (from && done < wanted) {
      ++done;
      known.merge(*from);
    }
    if (done >= wanted || done + open < wanted) ended.set();
  }
};

class epoch_world::life final : public epoch_voters {
 public:
  life(epoch_world& all, std::uint32_t which, std::uint64_t counted)
      : world(all), server(which), number(counted), files(all.time_, *all.disks_[which]) {}

  bool runs() const noexcept { return !ended && !files.crashed(); }

  task<result<epoch_reply>> ask(const epoch_request& request, stop_token stop) override {
    const std::uint32_t n = world.size();
    const std::uint32_t quorum = world.bug_ == epoch_bug::minority ? 1 : n / 2 + 1;
    co_return co_await poll(request, quorum, stop);
  }
  /// Everybody who runs knows when somebody does not, as gossip would tell.
  task<status> tell(const epoch_request& request, stop_token stop) override {
    const auto running = std::ranges::count_if(
        world.present_, [this](const life* l) { return l->runs() && world.sees(server, l->server); });
    const auto told = co_await poll(request, static_cast<std::uint32_t>(running), stop);
    if (!told) co_return told.error();
    co_return status{};
  }

  epoch_world& world;
  const std::uint32_t server;
  const std::uint64_t number;
  sim_file_system files;
  std::unique_ptr<epoch_member> member;
  std::optional<epoch_coordinator> coordinator;
  stop_source stopping;
  bool ended = false;

 private:
  task<result<epoch_reply>> poll(const epoch_request& request, std::uint32_t wanted, stop_token until) {
    if (!runs()) co_return errc::closed;
    const auto box = std::make_shared<ballot_box>();
    box->wanted = wanted;
    box->open = world.size();
    for (std::uint32_t to = 0; to != world.size(); ++to)
      world.work_.spawn(world.carry(*this, to, request, box));
    const auto waited = co_await box->ended.wait(until);
    if (!waited) co_return waited.error();
    if (!runs()) co_return errc::closed;
    if (box->done < wanted) co_return errc::incomplete;
    if (world.bug_ == epoch_bug::votes_are_lost) box->known.vote.reset();
    co_return box->known;
  }
};

/// Writes into the history what is on the disk.
class epoch_world::watched_store final : public epoch_store {
 public:
  watched_store(life& whose, std::unique_ptr<epoch_store> kept) : life_(whose), kept_(std::move(kept)) {}

  task<result<epoch_state>> load() override {
    auto loaded = co_await kept_->load();
    life_.world.notice_crashes();
    if (loaded) observe(*loaded);
    co_return loaded;
  }
  task<status> keep(const epoch_state& state) override {
    const auto kept = co_await kept_->keep(state);
    life_.world.notice_crashes();
    if (kept && life_.runs()) observe(state);
    co_return kept;
  }

 private:
  void observe(const epoch_state& state) {
    const committed_epoch& at = state.committed;
    life_.world.history_.observe(life_.server, at.epoch, at.epoch == 0 ? "" : text_of(at.content));
  }

  life& life_;
  std::unique_ptr<epoch_store> kept_;
};

epoch_world::epoch_world(std::uint32_t servers, std::uint64_t seed, epoch_bug bug)
    : random_(seed), bug_(bug), present_(servers), starts_(servers), cut_off_(servers), work_(time_) {
  for (std::uint32_t i = 0; i != servers; ++i) {
    disks_.push_back(std::make_unique<sim_disk>(seed * servers + i));
    REQUIRE(disks_[i]->make_directory(folder, 0755) == 0);
    sim_disk::node root;
    REQUIRE(disks_[i]->find("/", root) == 0);
    disks_[i]->sync(root);
  }
}

epoch_world::~epoch_world() {
  for (const auto& each : lives_) each->stopping.request_stop();
  run(time_, [](scope& work) -> task<> { co_await work.join(); }(work_));
}

void epoch_world::plan(const epoch_crash& crash) {
  crashes_.push_back(crash);
}

void epoch_world::start(std::uint32_t server) {
  REQUIRE_FALSE(runs(server));
  lives_.push_back(std::make_unique<life>(*this, server, lives_.size() + 1));
  life& made = *lives_.back();
  ++starts_[server];
  present_[server] = &made;
  for (const epoch_crash& each : crashes_) {
    if (each.server == server && each.life == starts_[server] && each.operation != 0)
      made.files.crash_at(each.operation);
  }
  work_.spawn(live(made));
}

void epoch_world::start_all() {
  for (std::uint32_t i = 0; i != size(); ++i) {
    if (!runs(i)) start(i);
  }
}

bool epoch_world::runs(std::uint32_t server) const {
  return present_[server] != nullptr && present_[server]->runs();
}

std::uint64_t epoch_world::operations(std::uint32_t server) const {
  return present_[server]->files.operations();
}

const epoch_state& epoch_world::state(std::uint32_t server) const {
  return present_[server]->member->state();
}

void epoch_world::power_off(std::uint32_t server) {
  if (!runs(server)) return;
  present_[server]->files.crash();
  notice_crashes();
}

/// A server that has lost its power does nothing more, and the others hear of it.
void epoch_world::notice_crashes() {
  for (const auto& each : lives_) {
    if (each->ended || !each->files.crashed()) continue;
    each->ended = true;
    each->stopping.request_stop();
    note_crash(*each);
    give_news_to_others(each.get());
  }
}

void epoch_world::note_crash(const life& of) {
  for (const epoch_crash& each : crashes_) {
    const bool here = each.server == of.server && each.life == starts_[of.server];
    const bool by_message = each.message != 0 && each.message == messages_;
    const bool by_disk = each.operation != 0 && of.files.operations() + 1 >= each.operation;
    if ((here && by_disk) || (each.server == of.server && by_message)) happened_.insert(each);
  }
}

void epoch_world::give_news_to_others(const life* but) {
  for (life* other : present_) {
    if (other != nullptr && other != but && other->runs() && other->member != nullptr) other->member->news();
  }
}

void epoch_world::cut_off(std::uint32_t server) {
  cut_off_[server] = true;
  give_news_to_others(present_[server]);
}

void epoch_world::bring_back(std::uint32_t server) {
  cut_off_[server] = false;
  give_news_to_others(present_[server]);
}

void epoch_world::refuse_writes(std::uint32_t server) {
  constexpr std::uint32_t longer_than_any_run = 10'000;
  for (std::uint32_t nth = 1; nth != longer_than_any_run; ++nth)
    present_[server]->files.fail(testing::file_operation::open, nth, ENOSPC);
}

void epoch_world::heal(std::uint32_t server) {
  present_[server]->files.heal();
}

std::unique_ptr<epoch_store> epoch_world::store_of(life& mine) {
  std::unique_ptr<epoch_store> file = std::make_unique<epoch_file>(mine.files, folder);
  if (bug_ == epoch_bug::not_synced) file = std::make_unique<unsynced_file>(mine.files, folder);
  return std::make_unique<watched_store>(mine, std::move(file));
}

task<void> epoch_world::live(life& mine) {
  auto opened = co_await epoch_member::open(store_of(mine));
  notice_crashes();
  if (!opened) co_return;
  mine.member = std::move(*opened);
  mine.coordinator.emplace(*mine.member, mine, mine.server, mine.number);
  give_news_to_others(&mine);
  co_await keep_settled(*mine.member, *mine.coordinator, 100ms, mine.stopping.token());
}

void epoch_world::count_message() {
  ++messages_;
  for (const epoch_crash& each : crashes_) {
    if (each.message == messages_) power_off(each.server);
  }
}

nanoseconds epoch_world::travel_time() {
  const bool late = disturbed_ && random_.below(20) == 0;
  return nanoseconds(static_cast<std::int64_t>(10'000 + random_.below(late ? 100'000'000 : 500'000)));
}

bool epoch_world::sees(std::uint32_t server, std::uint32_t other) const {
  return server == other || (!cut_off_[server] && !cut_off_[other]);
}

bool epoch_world::passes(std::uint32_t from, std::uint32_t to) {
  const bool lost = disturbed_ && from != to && random_.below(30) == 0;
  return sees(from, to) && !lost;
}

/// A message that is on its way arrives although its sender has lost its power meanwhile.
task<void> epoch_world::carry(life& from, std::uint32_t to, epoch_request request,
                              std::shared_ptr<ballot_box> box) {
  co_await sleep_for(travel_time());
  count_message();
  life& there = *present_[to];
  result<epoch_reply> answer = error(errc::connection_lost);
  if (passes(from.server, to) && there.runs() && there.member != nullptr) {
    ballot& under = request.under;
    if (bug_ == epoch_bug::promises_ignored && request.step == epoch_step::decide)
      under = std::max(under, there.member->state().promised);
    answer = co_await there.member->handle(request);
  }
  count_message();
  co_await sleep_for(travel_time());
  if (!there.runs() || !passes(to, from.server)) answer = error(errc::connection_lost);
  box->answer(answer);
}

void epoch_world::commit(std::uint32_t server, std::vector<std::string> notes) {
  if (runs(server) && present_[server]->coordinator)
    work_.spawn(ask_for(*present_[server], std::move(notes)));
}

task<void> epoch_world::ask_for(life& at, std::vector<std::string> notes) {
  for (const std::string& note : notes) {
    if (!at.runs()) co_return;
    const std::size_t request = history_.begin();
    deadline_stop limit(deadline::in(2s), at.stopping.token());
    const auto reached = co_await at.coordinator->commit(note, limit.token());
    if (!reached || !at.runs()) co_return;
    history_.acknowledge(request, reached->epoch, text_of(reached->content));
  }
}

void epoch_world::end() {
  disturbed_ = false;
  for (std::uint32_t i = 0; i != size(); ++i) bring_back(i);
  for (int start = 0; start != 2; ++start) {  // a crash may have been planned for the life that begins now
    start_all();
    run_for(5s);
  }
  std::vector<std::uint64_t> all;
  for (std::uint32_t i = 0; i != size(); ++i) {
    if (!runs(i) || present_[i]->member == nullptr)
      history_.blame(fmt::format("server {} does not start", i));
    all.push_back(i);
  }
  history_.end(all);
}

}  // namespace shard_tests
