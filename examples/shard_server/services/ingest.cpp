#include "ingest.hpp"

#include <fcntl.h>

#include <vector>

#include "../store/content_hash.hpp"
#include "scoll/coro/when_all.hpp"
#include "source_walk.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {
namespace {

using namespace scoll::transport;

/// Copies files into the store, several at a time.
class ingest_pass {
 public:
  ingest_pass(object_store& store, run_progress& progress, walk_result work, scoll::bcast_context& call)
      : store_(store), progress_(progress), call_(call), files_(std::move(work.files)) {
    result_.unreadable.value = work.unreadable;
    result_.limit_reached.value = work.limit_reached;
    progress_.total = files_.size();
  }

  scoll::task<scoll::result<ingest::reply>> run() {
    std::vector<scoll::task<void>> copiers;
    for (int i = 0; i != copiers_at_once; ++i) copiers.push_back(copy_files());
    co_await scoll::when_all(std::move(copiers));
    if (!so_far_) co_return so_far_.error();
    co_return result_;
  }

 private:
  static constexpr int copiers_at_once = 4;

  scoll::task<void> copy_files() {
    while (so_far_ && next_ != files_.size()) {
      const std::string& path = files_[next_++];
      const auto copied = co_await copy(path);
      if (!copied) so_far_ = copied;
    }
  }

  /// Fails only if the walk cannot sensibly go on; a source that cannot be read is counted.
  scoll::task<scoll::status> copy(const std::string& path) {
    constexpr int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    auto source = co_await async_open(store_.files(), path.c_str(), flags, 0, call_.stop());
    if (!source && source.error() == scoll::errc::cancelled) co_return source.error();
    if (!source || !check_name(object_name_of(path))) co_return skip();
    auto buffer = co_await store_.chunks().acquire(call_.stop());
    if (!buffer) co_return buffer.error();
    auto object = co_await store_.create(object_name_of(path));
    if (!object) co_return object.error();

    content_hash hash;
    for (std::uint64_t at = 0;;) {
      const auto n = co_await async_read(*source, buffer->bytes(), at, call_.stop());
      if (!n && n.error() == scoll::errc::cancelled) co_return n.error();
      if (!n) co_return skip();
      if (*n == 0) break;
      const auto written = co_await store_.write(*object, buffer->bytes().first(*n));
      if (!written) co_return written;
      const auto hashed = co_await hash.add_on(call_.pool(), buffer->share(), *n, call_.stop());
      if (!hashed) co_return hashed;
      at += *n;
    }
    const std::uint64_t size = object->record().size;
    const auto kept = co_await store_.commit(*object, hash.value(), durability::page_cache);
    if (kept) count(size);
    co_return kept;
  }

  scoll::status skip() {
    ++result_.unreadable.value;
    ++progress_.done;
    return {};
  }

  void count(std::uint64_t size) {
    ++result_.objects.value;
    result_.bytes.value += size;
    ++progress_.done;
    progress_.bytes += size;
  }

  object_store& store_;
  run_progress& progress_;
  scoll::bcast_context& call_;
  std::vector<std::string> files_;
  std::size_t next_ = 0;
  scoll::status so_far_;
  ingest::reply result_;
};

}  // namespace

scoll::status ingest::prepare(const request& asked, scoll::bcast_context&) {
  if (asked.folder.starts_with('/')) return upkeep->allow_write();
  return scoll::error(scoll::errc::invalid_argument, "ingest needs an absolute path");
}

scoll::task<scoll::result<ingest::reply>> ingest::execute(const request& asked, scoll::bcast_context& call) {
  const auto how_far = board->begin(asked.run);
  walk_order order;
  order.folder = asked.folder;
  order.place = place;
  order.max_objects = asked.max_objects;
  order.max_bytes = asked.max_bytes;
  const auto job = [order](const scoll::cancel_flag& flag) { return walk(order, flag); };
  auto found = co_await call.pool().run("walk", job, call.stop());
  if (!found) co_return found.error();
  ingest_pass pass(*store, *how_far, std::move(*found), call);
  co_return co_await pass.run();
}

}  // namespace shard
