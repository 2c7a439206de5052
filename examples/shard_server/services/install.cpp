#include "install.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/scope.hpp"

namespace shard {

using scoll::errc;

// ---- at the root

scoll::status install_desk::stage(std::uint64_t run, std::shared_ptr<incoming_file> whole) {
  const auto same_name = [&](const auto& each) { return each.second.file->name() == whole->name(); };
  const auto under_way = [&](const auto& each) { return each.second->asked.name == whole->name(); };
  if (std::ranges::any_of(staged_, same_name) || std::ranges::any_of(deliveries_, under_way)) {
    return scoll::make_error(
        errc::busy, "a file {} is on its way to this server: repeat this when it is there", whole->name());
  }
  staged_[run].file = std::move(whole);
  return {};
}

std::optional<scoll::bulk_info> install_desk::travels(std::uint64_t run) const {
  const auto found = staged_.find(run);
  return found == staged_.end() ? std::nullopt : found->second.travels;
}

scoll::task<void> install_desk::unstage(std::uint64_t run) {
  const auto found = staged_.find(run);
  if (found == staged_.end()) co_return;
  const staged_file over = std::move(found->second);
  staged_.erase(found);
  if (!over.committed) co_await files_.remove(over.file);
}

// ---- deliveries

install_desk::delivery_ptr install_desk::find(const scoll::operation_id& id) const {
  const auto found = deliveries_.find(id);
  return found == deliveries_.end() ? nullptr : found->second;
}

/// Decides if this server takes part. A later attempt of a run takes the place of an earlier one, whose
/// broadcast may not have ended here.
scoll::status install_desk::may_begin(const scoll::operation_id& id, const install_request& asked) {
  for (const auto& [other, each] : deliveries_) {
    if (each->refused.error() || each->asked.name != asked.name) continue;
    if (key_of(other, each->asked) != key_of(id, asked)) {
      return scoll::make_error(errc::busy, "another file {} is on its way here, from node {}", asked.name,
                               other.root);
    }
    discard(*each);
    each->refused = scoll::error(errc::stale, "a later attempt has taken over");
  }
  return {};
}

void install_desk::expect(const install_request& asked, const scoll::bcast_context& call) {
  const scoll::operation_id& id = call.id();
  auto expected = std::make_shared<delivery>();
  expected->asked = asked;
  expected->is_root = call.is_root();
  expected->awaited = call.child_count();
  expected->others_have_it = expected->awaited == 0;
  if (expected->awaited == 0) expected->heard_all.set();
  expected->done_before = std::ranges::find(committed_, key_of(id, asked)) != committed_.end();
  expected->how_far = board_.resume(asked.run);
  if (!expected->done_before && !expected->is_root) expected->how_far->bytes = 0;
  if (expected->is_root) {
    const auto whole = staged_.find(asked.run);
    if (whole != staged_.end()) {
      expected->file = whole->second.file;
      whole->second.travels = call.bulk();
    }
  } else if (!expected->done_before) {
    expected->refused = may_begin(id, asked);
  }
  deliveries_[id] = std::move(expected);
}

scoll::task<scoll::status> install_desk::take(scoll::operation_id id, scoll::bulk_chunk part) {
  const delivery_ptr into = find(id);
  if (into == nullptr) co_return scoll::error(errc::stale, "the file is not expected here any more");
  if (into->is_root || into->done_before || !into->refused) co_return into->refused;
  if (into->file == nullptr) {
    auto created = co_await files_.create(into->asked.name);
    if (!created) co_return created.error();
    into->file = std::make_shared<incoming_file>(std::move(*created));
    if (!into->refused) {  // it was given up meanwhile
      discard(*into);
      co_return into->refused;
    }
  }
  const std::shared_ptr<incoming_file> file = into->file;
  const auto written = co_await files_.write(*file, part.bytes);
  if (!written) co_return written;
  into->how_far->bytes += part.bytes.size();
  co_return into->refused;
}

scoll::task<scoll::result<bool>> install_desk::commit(scoll::operation_id id, scoll::stop_token stop) {
  const delivery_ptr whole = find(id);
  if (whole == nullptr) co_return scoll::error(errc::stale, "the file is not expected here any more");
  if (whole->done_before) co_return false;
  if (!whole->refused) co_return whole->refused.error();
  if (whole->is_root) {
    const auto heard = co_await whole->heard_all.wait(stop);
    if (!heard) co_return heard.error();
    if (!whole->others_have_it) co_return scoll::error(errc::cancelled, "no other server has the file");
  }
  if (whole->file == nullptr && !whole->is_root) {  // it has no bytes, so that no part of it came
    auto created = co_await files_.create(whole->asked.name);
    if (!created) co_return created.error();
    whole->file = std::make_shared<incoming_file>(std::move(*created));
  }
  if (whole->file == nullptr) co_return scoll::error(errc::stale, "the file is not there any more");
  auto committed = co_await commit_file(key_of(id, whole->asked), whole);
  if (!committed) discard(*whole);
  co_return committed;
}

scoll::task<scoll::result<bool>> install_desk::commit_file(run_key key, delivery_ptr whole) {
  const std::shared_ptr<incoming_file> file = whole->file;
  const auto kept = co_await files_.commit(*file, whole->asked.bytes, whole->asked.hash);
  if (!kept) co_return kept.error();
  whole->file = nullptr;
  whole->how_far->done = 1;
  if (whole->is_root) staged_[key.run].committed = true;
  if (committed_.size() == most_runs_remembered) committed_.pop_front();
  committed_.push_back(key);
  co_return true;
}

void install_desk::hear(const scoll::operation_id& id, bool has_file) noexcept {
  const delivery_ptr asked = find(id);
  if (asked == nullptr || asked->awaited == 0) return;
  asked->others_have_it |= has_file;
  if (--asked->awaited == 0) asked->heard_all.set();
}

/// Removes the file of a delivery. The root's stays until its run is over.
void install_desk::discard(delivery& unwanted) noexcept {
  if (unwanted.file != nullptr && !unwanted.is_root) unwanted_.push_back(std::move(unwanted.file));
  unwanted.file = nullptr;
}

scoll::task<void> install_desk::remove_unwanted() {
  while (!unwanted_.empty()) {
    const std::shared_ptr<incoming_file> next = std::move(unwanted_.back());
    unwanted_.pop_back();
    co_await files_.remove(next);
  }
}

void install_desk::give_up(const scoll::operation_id& id) noexcept {
  const delivery_ptr lost = find(id);
  if (lost == nullptr) return;
  if (lost->refused) lost->refused = scoll::error(errc::cancelled, "the file is not wanted any more");
  discard(*lost);
}

void install_desk::forget(const scoll::operation_id& id) noexcept {
  give_up(id);
  deliveries_.erase(id);
}

// ---- the service

/// Nothing of this server's own is checked here: a server that refuses a request cuts off those below it.
scoll::status install::prepare(const request& asked, scoll::bcast_context& call) const {
  if (const auto allowed = upkeep->allow_write(); !allowed) return allowed;
  if (const auto good = check_installed_name(asked.name); !good) return good;
  desk->expect(asked, call);
  return {};
}

scoll::task<scoll::status> install::on_bulk(const scoll::bulk_chunk& part, scoll::bcast_context& call) const {
  return desk->take(call.id(), part);
}

void install::bulk_failed(const scoll::error&, scoll::bcast_context& call) const noexcept {
  desk->give_up(call.id());
  tidy_up();
}

scoll::task<scoll::result<install::reply>> install::execute(const request& asked,
                                                            scoll::bcast_context& call) const {
  const auto committed = co_await desk->commit(call.id(), call.stop());
  if (!committed) co_return committed.error();
  reply mine;
  // The root takes part in every attempt, and counts in the first.
  if (call.is_root() && !*committed) co_return mine;
  mine.servers.value = 1;
  mine.bytes.value = asked.bytes;
  mine.hashes.insert(asked.hash);
  co_return mine;
}

void install::on_reply(const scoll::arrival<reply>& child, scoll::bcast_context& call) const {
  desk->hear(call.id(), child.value != nullptr);
}

void install::replied(scoll::bcast_context& call) const noexcept {
  desk->forget(call.id());
  tidy_up();
}

/// These hooks are no coroutines, and files are removed in the background.
void install::tidy_up() const noexcept {
  if (desk->has_unwanted()) self->background().spawn(desk->remove_unwanted());
}

}  // namespace shard
