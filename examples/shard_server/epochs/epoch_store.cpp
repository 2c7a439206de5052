#include "epoch_store.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

namespace shard {
namespace {

using namespace scoll::transport;

constexpr std::size_t longest_file = 4096;  // a longer file was not written by this store

/// Stands before the state. The checksum covers the state alone; a wrong length makes it fail as well.
struct file_head {
  std::uint32_t bytes = 0;
  std::uint64_t checksum = 0;
};
constexpr std::size_t head_bytes = scoll::wire::fixed_size<file_head>;

std::vector<std::byte> encode(const epoch_state& state) {
  const std::size_t size = scoll::wire::encoded_size(state);
  std::vector<std::byte> bytes(head_bytes + size);
  const auto body = std::span(bytes).subspan(head_bytes);
  scoll::wire::encode_to(body, state).ignore();
  const file_head head{static_cast<std::uint32_t>(size), scoll::wire::checksum(body)};
  scoll::wire::encode_to(std::span(bytes).first(head_bytes), head).ignore();
  return bytes;
}

std::optional<epoch_state> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < head_bytes) return std::nullopt;
  const auto head = scoll::wire::decode_from<file_head>(bytes.first(head_bytes));
  const auto body = bytes.subspan(head_bytes);
  if (!head || head->bytes != body.size() || scoll::wire::checksum(body) != head->checksum)
    return std::nullopt;
  auto state = scoll::wire::decode_from<epoch_state>(body);
  if (!state) return std::nullopt;
  return std::move(*state);
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
  const std::vector<std::byte> bytes = encode(state);
  co_return co_await replace_file(files_, path_, bytes);
}

}  // namespace shard
