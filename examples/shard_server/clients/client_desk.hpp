#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "../services/object_io.hpp"
#include "eviction_list.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"

namespace shard {

/// What a client had at one server when it was evicted there.
struct ended_work {
  std::uint64_t uploads = 0;
  std::uint64_t calls = 0;
};

/// The calls of clients, which call a server over the network without being one. A client that is evicted is
/// refused from then on, and what it has under way here ends before the eviction does: nothing of it comes
/// afterwards.
class client_desk {
 public:
  client_desk(std::unique_ptr<eviction_list> evicted, object_desk& objects)
      : evicted_(std::move(evicted)), objects_(objects) {}

  /// Carries out a call. Error, besides those of `object_desk`: `not_authorised` (the caller is evicted).
  scoll::task<scoll::result<object_reply>> serve(scoll::node_id caller, const object_request& asked,
                                                 scoll::stop_token stop);

  /// Errors: `invalid_argument` (the id is that of a server), and those of `eviction_list`. After `io_error`
  /// the client is refused as long as this process lives.
  scoll::task<scoll::result<ended_work>> evict(scoll::node_id client, eviction why);
  scoll::task<scoll::status> admit(scoll::node_id client);

  /// The clients with unfinished uploads, and how many.
  std::map<scoll::node_id, std::uint32_t> uploads() const;
  const eviction_list& evicted() const noexcept { return *evicted_; }

 private:
  /// A client with calls under way.
  struct visit {
    std::uint64_t calls = 0;
    scoll::stop_source stop;
    scoll::event over;
  };

  scoll::task<std::uint64_t> end_calls(scoll::node_id client);

  std::unique_ptr<eviction_list> evicted_;
  object_desk& objects_;
  std::map<scoll::node_id, std::shared_ptr<visit>> visits_;
};

}  // namespace shard
