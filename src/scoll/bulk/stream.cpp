#include "scoll/bulk/stream.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/memory_service.hpp"

namespace scoll {

using transport::memory_head;
using transport::memory_order_kind;

/// A ring of buffers, each with the transfer that fills it.
class bulk_stream::puller {
 public:
  puller(node& at, const region_descriptor& from, std::uint64_t offset, std::uint64_t length,
         stream_options options)
      : wire_(at.wire()),
        from_(from),
        options_(options),
        chunk_(std::clamp<std::uint32_t>(options.chunk_bytes, 1, chunk_limit)),
        begin_(offset),
        length_(length),
        slots_(std::clamp<std::uint64_t>(options.depth, 1,
                                         std::min<std::uint64_t>(depth_limit, chunks_of(length)))) {}
  ~puller() { abandon({errc::cancelled, "the stream has ended"}); }

  std::uint64_t position() const noexcept { return given_; }

  task<result<std::span<const std::byte>>> next() {
    if (!started_) start();
    if (failure_) co_return failure_;
    hand_back();
    if (given_ == length_) co_return std::span<const std::byte>();
    // A stop ends the stream even if the chunk has arrived already.
    if (stop_->stop_requested()) co_return fail({stop_->reason(), "the stream ended before its last chunk"});
    slot& front = slots_[front_];
    const status ended = co_await front.filling->wait(stop_->token());
    status outcome = front.filling->outcome();
    if (!ended && !front.filling->finished()) {
      outcome = error(stop_->reason(), "the stream was waiting for a chunk");
    }
    if (!outcome) co_return fail(outcome.error());
    front.filling.reset();
    given_ += front.size;
    lent_ = true;
    const auto chunk = std::span<const std::byte>(front.bytes).first(front.size);
    if (SCOLL_MUTANT(bulk_chunk_overwritten,
                     "the buffer of a chunk is filled again while the chunk is processed"))
      hand_back();
    co_return chunk;
  }

 private:
  struct slot {
    std::vector<std::byte> bytes;
    std::optional<transport::transfer> filling;
    std::size_t size = 0;
  };

  std::uint64_t chunks_of(std::uint64_t length) const noexcept {
    return std::max<std::uint64_t>(1, length / chunk_ + (length % chunk_ != 0));
  }

  void start() {
    started_ = true;
    stop_.emplace(options_.deadline.from(executor::current().now()), options_.stop);
    if (stop_->stop_requested()) {
      fail({stop_->reason(), "the stream ended before it had begun"});
    } else if (const auto s =
                   transport::check_transfer(wire_, from_, memory_order_kind::get, begin_, length_);
               !s) {
      fail(s.error());
    }
    for (slot& s : slots_) {
      if (!failure_) fill(s);
    }
  }

  /// Takes back the chunk that the caller has processed. Its buffer receives the next chunk that has not been
  /// asked for.
  void hand_back() {
    if (!lent_) return;
    lent_ = false;
    fill(slots_[front_]);
    front_ = (front_ + 1) % slots_.size();
  }

  void fill(slot& s) {
    s.size = static_cast<std::size_t>(std::min<std::uint64_t>(chunk_, length_ - asked_));
    if (s.size == 0) return;
    s.bytes.resize(std::max<std::size_t>(s.bytes.size(), s.size));
    const auto operation = options_.checked ? memory_order_kind::checked_get : memory_order_kind::get;
    s.filling.emplace(
        memory_head{operation, from_.region, from_.incarnation, from_.generation, begin_ + asked_, 0},
        std::span(s.bytes).first(s.size));
    asked_ += s.size;
    wire_.memory().transfers().start(*s.filling, *wire_.find(from_.node), {});
  }

  error fail(const error& reason) {
    failure_ = reason;
    abandon(reason);
    return failure_;
  }

  void abandon(const error& reason) noexcept {
    for (slot& s : slots_) {
      if (s.filling && !s.filling->finished()) wire_.memory().transfers().abandon(*s.filling, reason);
      s.filling.reset();
    }
  }

  transport::endpoint& wire_;
  region_descriptor from_;
  stream_options options_;
  std::uint32_t chunk_;
  std::uint64_t begin_;
  std::uint64_t length_;
  std::uint64_t asked_ = 0;
  std::uint64_t given_ = 0;
  std::vector<slot> slots_;
  std::size_t front_ = 0;
  bool lent_ = false;
  bool started_ = false;
  std::optional<deadline_stop> stop_;
  error failure_;
};

bulk_stream::bulk_stream(node& at, const region_descriptor& from, stream_options options)
    : bulk_stream(at, from, 0, from.length, options) {}
bulk_stream::bulk_stream(node& at, const region_descriptor& from, std::uint64_t offset, std::uint64_t length,
                         stream_options options)
    : puller_(std::make_unique<puller>(at, from, offset, length, options)) {}
bulk_stream::~bulk_stream() = default;

task<result<std::span<const std::byte>>> bulk_stream::next() {
  return puller_->next();
}
std::uint64_t bulk_stream::position() const noexcept {
  return puller_->position();
}

}  // namespace scoll
