#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../store/content_hash.hpp"
#include "../store/object_name.hpp"
#include "../store/object_store.hpp"
#include "ids.hpp"
#include "maintenance.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/ship/remote_function.hpp"

namespace shard {

enum class object_step : std::uint8_t {
  locate,   ///< asks for size, hash and file of `name`
  read,     ///< reads up to `length` bytes of `name` from `offset`
  begin,    ///< begins an upload of `name`
  write,    ///< writes `bytes` at `offset` of the upload
  commit,   ///< makes the upload, whose content has `hash`, the object
  abandon,  ///< drops the upload
};

/// One step of moving an object, sent to the object's owner.
struct object_request {
  object_step step = object_step::locate;
  std::uint64_t owner = 0;   ///< the node that must act
  std::uint64_t upload = 0;  ///< chosen by the sender, unique among its uploads
  std::uint64_t offset = 0;
  std::uint64_t hash = 0;
  std::uint32_t length = 0;
  std::string name;
  std::vector<std::byte> bytes;
};

struct object_reply {
  bool from_owner = false;
  std::uint64_t size = 0;
  std::uint64_t hash = 0;
  std::uint64_t generation = 0;  ///< if it differs, the object was replaced meanwhile
  std::string file;
  std::vector<std::byte> bytes;

  void merge(const object_reply& from) noexcept {
    if (from.from_owner) *this = from;
  }
};

/// The same step as a call to the owner, for clients.
inline constexpr scoll::remote_function<object_request, object_reply> object_call{"shard.object"};

/// The largest piece that fits: a request has 4,096 bytes, with a name of at most 512.
inline constexpr std::size_t write_piece_bytes = 3500;
inline constexpr std::uint32_t read_piece_bytes = 16384;

/// The owner's side of puts and gets. The number of unfinished uploads is bounded: a new upload over the
/// limit removes the oldest one.
class object_desk {
 public:
  object_desk(object_store& store, maintenance_desk& upkeep) noexcept : store_(store), upkeep_(upkeep) {}

  /// Errors: `not_found` (object or upload), `invalid_argument`, `checksum_mismatch`, `closed` (an upload
  /// would begin during a maintenance), and those of the store.
  scoll::task<scoll::result<object_reply>> handle(scoll::node_id from, const object_request& request,
                                                  scoll::stop_token stop);
  /// The senders of unfinished uploads, and how many each has.
  std::map<scoll::node_id, std::uint32_t> uploads() const;
  /// Drops the unfinished uploads of a sender, and returns how many there were. None of its steps may run.
  std::uint64_t drop_uploads(scoll::node_id from);

 private:
  static constexpr std::size_t uploads_at_once = 64;
  struct upload {
    upload(new_object into, std::uint64_t number) : object(std::move(into)), sequence(number) {}
    new_object object;
    content_hash hash;
    std::uint64_t sequence;
    bool busy = false;
  };
  using upload_key = std::pair<scoll::node_id, std::uint64_t>;
  using upload_ptr = std::shared_ptr<upload>;  // a running step keeps an abandoned upload alive

  scoll::result<object_reply> locate(const object_request& request) const;
  scoll::task<scoll::result<object_reply>> read(const object_request& request, scoll::stop_token stop);
  scoll::task<scoll::result<object_reply>> begin(upload_key key, const object_request& request);
  scoll::task<scoll::result<object_reply>> write(upload_key key, const object_request& request);
  scoll::task<scoll::result<object_reply>> commit(upload_key key, const object_request& request);
  void make_room();

  object_store& store_;
  maintenance_desk& upkeep_;
  std::map<upload_key, upload_ptr> uploads_;
  std::uint64_t sequence_ = 0;
};

/// Puts and gets go through a group of two: the server that was asked, and the owner. Both execute, as all
/// members do; the one that is not the owner contributes nothing.
struct object_io {
  static constexpr scoll::service_id id = ids::object_io;
  static constexpr std::string_view name = "object_io";
  static constexpr std::size_t reply_capacity = scoll::max_reply_bytes;
  using request = object_request;
  using reply = object_reply;

  object_desk* desk;

  scoll::task<scoll::result<reply>> execute(const request& asked, scoll::bcast_context& call) {
    if (call.self() != asked.owner) co_return reply{};
    co_return co_await desk->handle(call.root(), asked, call.stop());
  }
};

}  // namespace shard
