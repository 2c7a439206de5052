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

/// One object on its way between a client of the control socket and its owner, in pieces that fit a message.
/// On the socket each piece is a line {"bytes": "<base64>"}; the end of a put is {"end": true}.
class object_move {
 public:
  /// `upload`: no other put of this server has the same number.
  object_move(control_connection& client, object_client& owner, std::string name, std::uint64_t upload,
              scoll::stop_token stop);

  /// "put", "get" or "where". Gives what the owner says of the object.
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
