#include "eviction_list.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../store/checked_record.hpp"
#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

using namespace scoll::transport;

/// What the file holds.
struct kept_eviction {
  std::uint64_t client = 0;
  eviction why;
};
struct kept_list {
  std::vector<kept_eviction> all;
};

constexpr std::size_t longest_file = 256 << 10;  // a longer file was not written by this server

std::optional<kept_list> decode(std::span<const std::byte> bytes) {
  auto list = take_checked<kept_list>(bytes);
  return bytes.empty() ? std::move(list) : std::nullopt;
}

}  // namespace

scoll::task<scoll::result<std::unique_ptr<eviction_list>>> eviction_list::open(file_system& files,
                                                                               const std::string& folder) {
  std::unique_ptr<eviction_list> list(new eviction_list(files, folder + "/evicted"));
  const auto content = co_await read_file(files, list->path_, longest_file);
  if (!content && no_such_file(content.error())) co_return std::move(list);
  if (!content) co_return content.error();
  auto kept = decode(*content);
  if (!kept) co_return file_error(scoll::errc::checksum_mismatch, "damaged:", list->path_);
  for (kept_eviction& each : kept->all) list->evicted_.emplace(each.client, std::move(each.why));
  co_return std::move(list);
}

const eviction* eviction_list::find(scoll::node_id client) const noexcept {
  const auto found = evicted_.find(client);
  return found == evicted_.end() ? nullptr : &found->second;
}

scoll::task<scoll::status> eviction_list::add(scoll::node_id client, eviction why) {
  if (evicted_.size() == most && find(client) == nullptr) {
    co_return scoll::make_error(scoll::errc::busy, "{} clients are evicted here: admit some of them again",
                                most);
  }
  evicted_[client] = std::move(why);
  co_await changing_.acquire();
  auto kept = co_await keep(evicted_);
  changing_.release();
  co_return kept;
}

scoll::task<scoll::status> eviction_list::remove(scoll::node_id client) {
  co_await changing_.acquire();
  auto without = evicted_;
  scoll::status kept;
  if (without.erase(client) != 0) kept = co_await keep(without);
  if (kept) evicted_.erase(client);
  changing_.release();
  co_return kept;
}

scoll::task<scoll::status> eviction_list::keep(std::map<scoll::node_id, eviction> list) {
  kept_list kept;
  for (auto& [client, why] : list) kept.all.push_back({client, std::move(why)});
  const std::vector<std::byte> bytes = encode_checked(kept);
  co_return co_await replace_file(*files_, path_, bytes);
}

}  // namespace shard
