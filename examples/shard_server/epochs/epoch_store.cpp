#include "epoch_store.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "../store/checked_record.hpp"
#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

using namespace scoll::transport;

constexpr std::size_t longest_file = 4096;  // a longer file was not written by this store

std::optional<epoch_state> decode(std::span<const std::byte> bytes) {
  auto state = take_checked<epoch_state>(bytes);
  return bytes.empty() ? std::move(state) : std::nullopt;
}

}  // namespace

scoll::task<scoll::result<epoch_state>> epoch_file::load() {
  const auto content = co_await read_file(files_, path_, longest_file);
  if (!content && no_such_file(content.error())) co_return co_await begin();
  if (!content) co_return content.error();
  auto state = decode(*content);
  if (!state) co_return file_error(scoll::errc::checksum_mismatch, "damaged:", path_);
  co_return std::move(*state);
}

/// The state is written before the first incarnation, so a folder with an incarnation has lost its state.
scoll::task<scoll::result<epoch_state>> epoch_file::begin() {
  const std::string life = folder_ + "/incarnation";
  const auto earlier = co_await read_file(files_, life, longest_file);
  if (earlier || !no_such_file(earlier.error())) {
    co_return scoll::make_error(
        scoll::errc::not_found,
        "{} is missing, but this server has run before and may have voted: restore it", path_);
  }
  epoch_state first;
  const auto kept = co_await keep(first);
  if (!kept) co_return kept.error();
  co_return first;
}

scoll::task<scoll::status> epoch_file::keep(const epoch_state& state) {
  const std::vector<std::byte> bytes = encode_checked(state);
  co_return co_await replace_file(files_, path_, bytes);
}

}  // namespace shard
