#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../store/content_hash.hpp"
#include "object_client.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/control_socket.hpp"

namespace shard {

using scoll::transport::control_connection;

/// Moves one object between a client of the control socket and the object's owner, in pieces that fit a
/// message. On the socket each piece is a line {"bytes": "<base64>"}; the line {"end": true} ends a put.
class object_move {
 public:
  /// `upload` must differ from the number of every other put of this server.
  object_move(control_connection& client, object_client& owner, std::string name, std::uint64_t upload,
              scoll::stop_token stop);

  /// Runs "put", "get" or "where". Returns what the owner says about the object.
  scoll::task<scoll::result<object_reply>> run(std::string_view what);

 private:
  scoll::task<scoll::result<object_reply>> locate();
  scoll::task<scoll::result<object_reply>> get();
  scoll::task<scoll::status> read_pieces(const object_reply& whole);
  scoll::task<scoll::result<object_reply>> put();
  scoll::task<scoll::status> write_pieces();
  scoll::task<scoll::status> write_bytes(std::span<const std::byte> bytes);
  scoll::task<void> abandon();

  control_connection& client_;
  object_client& owner_;
  scoll::stop_token stop_;
  object_request step_;
  content_hash hash_;
};

}  // namespace shard
