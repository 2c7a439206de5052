#include "move_object.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base64.hpp"
#include "command.hpp"
#include "scoll/coro/deadline.hpp"

namespace shard {

using scoll::errc;

object_move::object_move(control_connection& client, object_client& owner, std::string name,
                         std::uint64_t upload, scoll::stop_token stop)
    : client_(client), owner_(owner), stop_(stop) {
  step_.name = std::move(name);
  step_.upload = upload;
}

scoll::task<scoll::result<object_reply>> object_move::run(std::string_view what) {
  if (const auto good = check_name(step_.name); !good) co_return good.error();
  const auto connected = co_await owner_.connect();
  if (!connected) co_return connected.error();
  scoll::result<object_reply> moved = errc::unsupported;
  if (what == "put") {
    moved = co_await put();
  } else if (what == "get") {
    moved = co_await get();
  } else {
    moved = co_await locate();
  }
  co_await owner_.close();
  co_return moved;
}

scoll::task<scoll::result<object_reply>> object_move::locate() {
  step_.step = object_step::locate;
  co_return co_await owner_.ask(step_, stop_);
}

// ---- from the owner

scoll::task<scoll::result<object_reply>> object_move::get() {
  auto whole = co_await locate();
  if (!whole) co_return whole.error();
  const auto read = co_await read_pieces(*whole);
  if (!read) co_return read.error();
  if (hash_.value() != whole->hash)
    co_return scoll::error(errc::checksum_mismatch, "the object is damaged: not what was put");
  co_return std::move(*whole);
}

scoll::task<scoll::status> object_move::read_pieces(const object_reply& whole) {
  step_.step = object_step::read;
  step_.length = read_piece_bytes;
  for (step_.offset = 0; step_.offset < whole.size;) {
    const auto piece = co_await owner_.ask(step_, stop_);
    if (!piece) co_return piece.error();
    if (piece->generation != whole.generation)
      co_return scoll::error(errc::stale, "the object was replaced while it was read");
    if (piece->bytes.empty())
      co_return scoll::error(errc::checksum_mismatch, "the object is damaged: its file is too short");
    hash_.add(piece->bytes);
    step_.offset += piece->bytes.size();
    nlohmann::json line;
    line["bytes"] = to_base64(piece->bytes);
    const auto sent = co_await client_.write_line(line.dump());
    if (!sent) co_return sent;
  }
  co_return scoll::status{};
}

// ---- to the owner

scoll::task<scoll::result<object_reply>> object_move::put() {
  const auto written = co_await write_pieces();
  if (!written) {
    co_await abandon();
    co_return written.error();
  }
  step_.step = object_step::commit;
  step_.hash = hash_.value();
  step_.bytes.clear();
  co_return co_await owner_.ask(step_, stop_);
}

scoll::task<scoll::status> object_move::write_pieces() {
  constexpr scoll::nanoseconds for_a_piece = std::chrono::seconds(30);
  step_.step = object_step::begin;
  const auto begun = co_await owner_.ask(step_, stop_);
  if (!begun) co_return begun.error();
  step_.step = object_step::write;
  for (;;) {
    scoll::deadline_stop limit(scoll::deadline::in(for_a_piece), stop_);
    const auto line = co_await client_.read_line(limit.token());
    if (!line) co_return limit.explain(line.error());
    const auto parsed = parse_put_piece(*line);
    const auto* piece = std::get_if<put_piece>(&parsed);
    if (piece == nullptr) co_return scoll::error(errc::invalid_argument, std::get<std::string>(parsed));
    const auto bytes = from_base64(piece->base64);
    if (!bytes) co_return scoll::error(errc::invalid_argument, "'bytes' is not base64");
    const auto written = co_await write_bytes(*bytes);
    if (!written || piece->end) co_return written;
  }
}

/// Sends the bytes in pieces that each fit a request.
scoll::task<scoll::status> object_move::write_bytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto piece = bytes.first(std::min(bytes.size(), write_piece_bytes));
    step_.bytes.assign(piece.begin(), piece.end());
    const auto written = co_await owner_.ask(step_, stop_);
    if (!written) co_return written.error();
    hash_.add(piece);
    step_.offset += piece.size();
    bytes = bytes.subspan(piece.size());
  }
  co_return scoll::status{};
}

/// Runs even if the client has gone, so that the owner does not keep an upload that will never be finished.
scoll::task<void> object_move::abandon() {
  step_.step = object_step::abandon;
  step_.bytes.clear();
  (co_await owner_.ask(step_, {})).ignore();
}

}  // namespace shard
