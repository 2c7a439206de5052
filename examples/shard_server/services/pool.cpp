#include "pool.hpp"

#include <fcntl.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../cluster/cluster_file.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/io_awaitables.hpp"

namespace shard {
namespace {

using namespace scoll::transport;
using scoll::errc;

/// Reads a file of ordinary size in one piece, without blocking the thread.
scoll::task<scoll::result<std::string>> read_text(file_system& files, std::string path) {
  constexpr std::uint64_t longest = std::uint64_t{1} << 20;
  const auto opened = co_await async_open(files, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (!opened) co_return opened.error();
  const auto size = co_await file_size(*opened);
  if (!size) co_return size.error();
  if (*size > longest)
    co_return scoll::make_error(errc::too_large, "the cluster file has {} bytes: at most {} are read", *size,
                                longest);
  std::string text(*size, '\0');
  std::size_t read = 0;
  while (read != text.size()) {
    const auto rest = std::as_writable_bytes(std::span(text)).subspan(read);
    const auto n = co_await async_read(*opened, rest, read);
    if (!n) co_return n.error();
    if (*n == 0) break;
    read += *n;
  }
  text.resize(read);
  co_return text;
}

scoll::result<scoll::membership_ptr> members_in(const cluster_config& config, std::uint64_t number) {
  const pool_config* found = config.find_pool(number);
  if (found == nullptr)
    return scoll::make_error(errc::not_found, "there is no pool {} in the cluster file", number);
  std::vector<scoll::target> targets;
  targets.reserve(found->nodes.size());
  for (const scoll::node_id node : found->nodes)
    targets.push_back(config.nodes[*config.rank_of(node)].as_target());
  return scoll::membership::make(std::move(targets));
}

}  // namespace

scoll::task<scoll::result<scoll::membership_ptr>> pool::members(std::uint64_t number) const {
  const auto text = co_await read_text(store->files(), cluster_file.string());
  if (!text) co_return text.error();
  const auto parsed = parse_cluster(*text, cluster_file);
  if (const auto* wrong = std::get_if<std::string>(&parsed)) {
    spdlog::warn("pool {}: {}", number, *wrong);
    co_return scoll::error(errc::invalid_argument, "the cluster file is wrong; the server's log says where");
  }
  auto found = members_in(std::get<cluster_config>(parsed), number);
  if (found) spdlog::info("the cluster file has {} servers in pool {}", (*found)->size(), number);
  co_return found;
}

scoll::task<scoll::result<pool::reply>> pool::execute(const request& asked, scoll::bcast_context& call) {
  df whole_server{store};
  co_return co_await whole_server.execute(asked, call);
}

}  // namespace shard
