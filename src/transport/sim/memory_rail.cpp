#include "transport/sim/memory_rail.hpp"

#include <algorithm>
#include <cstring>
#include <deque>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t chunk_limit_bytes = 65536;
// What lies in a wire before its sender has to wait, as a socket's buffers would.
constexpr std::size_t memory_pipe_bytes = 262144;

}  // namespace

/// One end of a wire. What it writes lies in its peer's queue until it is due.
class memory_link final : public link, public list_hook<> {
 public:
  memory_link(memory_rail& owner, std::string remote) noexcept
      : rail_(owner),
        remote_(std::move(remote)),
        assembler_(owner.network_.frames_),
        timer_(*this),
        drained_(*this) {
    ++rail_.open_;
    network().links_.push_back(*this);
  }

  static void join(memory_link& a, memory_link& b) noexcept {
    a.peer_ = &b;
    b.peer_ = &a;
  }

  bool writable() const noexcept override { return !drained_.scheduled() && !blocked_; }
  std::size_t batch_bytes() const noexcept override { return 65536; }
  std::string peer_name() const override { return remote_; }

  void write(std::span<const frame_parts> frames) noexcept override {
    SCOLL_ASSERT(writable(), "one batch at a time");
    for (const frame_parts& f : frames) {
      f.each_piece([this](std::span<const std::byte> piece) { send_piece(piece); });
    }
    if (peer_ != nullptr) peer_->wake();
    blocked_ = peer_ != nullptr && peer_->queued_bytes_ >= memory_pipe_bytes;
    if (!blocked_) ex().schedule(drained_);
  }

  void close() noexcept override {
    owner_ = nullptr;
    if (peer_ != nullptr) peer_->end_after_queue({errc::connection_lost, "the peer closed the connection"});
    die();
  }

  /// Breaks both directions; this end hears of it after the latency.
  void break_now() noexcept {
    queue_.clear();
    queued_bytes_ = 0;
    end_after_queue({errc::connection_lost, "the connection was cut"});
  }

  bool between(const std::string& a, const std::string& b) const noexcept {
    return (rail_.address_ == a && remote_ == b) || (rail_.address_ == b && remote_ == a);
  }
  void wake() noexcept {
    if (timer_.armed() || (queue_.empty() && !ending_)) return;
    if (network().frozen_.contains(rail_.address_)) return;
    const time_point due = queue_.empty() ? end_at_ : queue_.front().due;
    ex().arm(timer_, std::max(due, ex().now()));
  }
  const std::string& address() const noexcept { return rail_.address_; }

 private:
  struct chunk {
    buffer_ref bytes;
    std::size_t size;
    time_point due;
  };
  class delivery final : public timer_node {
   public:
    explicit delivery(memory_link& owner) noexcept : timer_node(&fire), owner_(owner) {}
    ~delivery() = default;

   private:
    static void fire(timer_node& node) noexcept { static_cast<delivery&>(node).owner_.deliver(); }
    memory_link& owner_;
  };
  class drained final : public ready_node {
   public:
    explicit drained(memory_link& owner) noexcept : ready_node(&run), owner_(owner) {}
    ~drained() = default;

   private:
    static void run(ready_node& node) noexcept {
      memory_link& self = static_cast<drained&>(node).owner_;
      if (self.owner_ != nullptr) self.owner_->on_writable();
    }
    memory_link& owner_;
  };

  memory_network& network() const noexcept { return rail_.network_; }
  executor& ex() const noexcept { return network().executor_; }

  void send_piece(std::span<const std::byte> bytes) noexcept {
    while (!bytes.empty() && peer_ != nullptr) {
      chunk& c = peer_->tail(ex().now() + network().latency_);
      const std::size_t n = std::min(bytes.size(), network().chunk_bytes_ - c.size);
      std::memcpy(c.bytes.data() + c.size, bytes.data(), n);
      c.size += n;
      peer_->queued_bytes_ += n;
      network().bytes_carried_ += n;
      bytes = bytes.subspan(n);
    }
  }

  chunk& tail(time_point due) noexcept {
    if (queue_.empty() || queue_.back().due != due || queue_.back().size == network().chunk_bytes_) {
      queue_.push_back({network().chunks_.try_acquire(), 0, due});
      SCOLL_ASSERT(queue_.back().bytes, "the memory network ran out of buffers");
    }
    return queue_.back();
  }

  void end_after_queue(const error& reason) noexcept {
    peer_ = nullptr;
    unblock();
    ending_ = true;
    end_reason_ = reason;
    end_at_ = ex().now() + network().latency_;
    wake();
  }

  void unblock() noexcept {
    if (std::exchange(blocked_, false)) ex().schedule(drained_);
  }

  void deliver() noexcept {
    if (network().frozen_.contains(rail_.address_)) return;
    if (queue_.empty()) return finish(end_reason_);
    chunk c = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= c.size;
    if (peer_ != nullptr && queued_bytes_ < memory_pipe_bytes) peer_->unblock();
    wake();
    if (network().tamper_ && !network().tamper_(remote_, rail_.address_, {c.bytes.data(), c.size})) {
      if (peer_ != nullptr) peer_->break_now();
      return finish({errc::connection_lost, "the connection was cut"});
    }
    bool alive = true;
    alive_ = &alive;
    assembler_.set_owner(owner_);
    const auto s = assembler_.feed(c.bytes, {c.bytes.data(), c.size}, [&](frame_view& frame) {
      owner_->on_frame(frame);
      return alive;
    });
    if (!alive) return;
    alive_ = nullptr;
    if (!s) {
      if (peer_ != nullptr)
        peer_->end_after_queue({errc::connection_lost, "the peer dropped the connection"});
      finish(s.error());
    }
  }

  void finish(error reason) noexcept {  // a copy: it may be this link's own
    if (peer_ != nullptr) peer_->peer_ = nullptr;
    link_events* owner = std::exchange(owner_, nullptr);
    die();
    if (owner != nullptr) owner->on_closed(reason);
  }

  void die() noexcept {
    if (peer_ != nullptr) peer_->peer_ = nullptr;
    if (alive_ != nullptr) *alive_ = false;
    if (timer_.armed()) ex().disarm(timer_);
    ex().unschedule(drained_);
    --rail_.open_;
    delete this;
  }

  memory_rail& rail_;
  std::string remote_;
  frame_assembler assembler_;
  memory_link* peer_ = nullptr;
  std::deque<chunk> queue_;
  std::size_t queued_bytes_ = 0;
  bool blocked_ = false;
  delivery timer_;
  drained drained_;
  bool ending_ = false;
  time_point end_at_{};
  error end_reason_;
  bool* alive_ = nullptr;

  friend class memory_network;
};

memory_network::memory_network(executor& ex, nanoseconds latency)
    : executor_(ex), latency_(latency), chunks_(chunk_limit_bytes, 65536), frames_(max_frame_bytes, 65536) {}

memory_network::~memory_network() {
  SCOLL_ASSERT(links_.empty() && listeners_.empty(), "a memory network died before its rails");
}

void memory_network::set_chunk_bytes(std::size_t bytes) noexcept {
  chunk_bytes_ = std::clamp(bytes, std::size_t{1}, chunk_limit_bytes);
}

void memory_network::cut(const std::string& a, const std::string& b) {
  for (memory_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->between(a, b)) l->break_now();
  }
}

void memory_network::thaw(const std::string& address) {
  frozen_.erase(address);
  for (memory_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->address() == address) l->wake();
  }
}

/// A connection attempt on its way.
class memory_rail::connector final : public list_hook<>, public timer_node {
 public:
  connector(memory_rail& owner, std::string to, connect_events& waiter) noexcept
      : timer_node(&fire), rail_(owner), to_(std::move(to)), waiter_(&waiter) {
    ++rail_.open_;
    rail_.network_.executor_.arm(*this, rail_.network_.executor_.now() + rail_.network_.latency_);
  }
  ~connector() {
    if (armed()) rail_.network_.executor_.disarm(*this);
    --rail_.open_;
  }
  bool of(const connect_events& waiter) const noexcept { return waiter_ == &waiter; }

 private:
  static void fire(timer_node& node) noexcept { static_cast<connector&>(node).decide(); }

  void decide() noexcept {
    memory_rail& from = rail_;
    memory_network& network = from.network_;
    connect_events& waiter = *waiter_;
    const std::string to = to_;
    const auto listener = network.listeners_.find(to);
    const bool refused =
        listener == network.listeners_.end() || network.blocked_.contains({from.address_, to});
    delete this;
    if (refused) return waiter.on_connect_failed(make_error(errc::unreachable, "nobody listens at {}", to));
    memory_rail& target = *listener->second;
    auto* ours = new memory_link(from, to);
    auto* theirs = new memory_link(target, from.address_);
    memory_link::join(*ours, *theirs);
    target.acceptor_->on_accepted(*theirs);
    waiter.on_connected(*ours);
  }

  memory_rail& rail_;
  std::string to_;
  connect_events* waiter_;
};

memory_rail::memory_rail(memory_network& network, std::string address)
    : network_(network), address_(std::move(address)) {}

memory_rail::~memory_rail() {
  stop_listening();
  while (!connecting_.empty()) delete &connecting_.pop_front();
  SCOLL_ASSERT(
      open_ == 0,
      "a rail died before its links: await node.shutdown(...), then destroy the node, then the rail");
}

status memory_rail::listen(const std::string& address, accept_events& events) noexcept {
  if (network_.listeners_.contains(address)) return make_error(errc::already_exists, "{} is taken", address);
  address_ = address;
  network_.listeners_[address] = this;
  acceptor_ = &events;
  return {};
}

void memory_rail::stop_listening() noexcept {
  if (acceptor_ != nullptr) network_.listeners_.erase(address_);
  acceptor_ = nullptr;
}

void memory_rail::connect(const std::string& address, connect_events& waiter) noexcept {
  connecting_.push_back(*new connector(*this, address, waiter));
}

void memory_rail::cancel_connect(connect_events& waiter) noexcept {
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) {
    if (c->of(waiter)) {
      delete c;
      return;
    }
  }
}

}  // namespace scoll::transport
