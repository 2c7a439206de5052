#include "check_object.hpp"

#include <fmt/format.h>

#include "content_hash.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {

scoll::task<scoll::result<std::string>> find_damage(object_store& store, object_record record,
                                                    scoll::worker_pool& pool, scoll::stop_token stop) {
  using namespace scoll::transport;
  auto buffer = co_await store.chunks().acquire(stop);
  if (!buffer) co_return buffer.error();
  auto file = co_await store.open_to_read(record, stop);
  if (!file && file.error() == scoll::errc::io_error) co_return describe(file.error());
  if (!file) co_return file.error();

  content_hash hash;
  std::uint64_t read = 0;
  for (;;) {
    const auto n = co_await async_read(*file, buffer->bytes(), read, stop);
    if (!n && n.error() == scoll::errc::io_error) co_return describe(n.error());
    if (!n) co_return n.error();
    read += *n;
    if (*n == 0) break;
    const auto hashed = co_await hash.add_on(pool, buffer->share(), *n, stop);
    if (!hashed) co_return hashed.error();
  }
  (co_await async_close(*file)).ignore();

  if (read != record.size) co_return fmt::format("{} bytes long instead of {}", read, record.size);
  if (hash.value() != record.hash) co_return std::string("content differs from what was stored");
  co_return std::string();
}

}  // namespace shard
