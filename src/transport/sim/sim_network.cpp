#include "transport/sim/sim_network.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t smallest_chunk_bytes = 16;
constexpr std::size_t largest_chunk_bytes = 65536;
constexpr std::size_t pool_limit = 16384;
constexpr std::size_t chunks_per_host = 4;  // of a large world
// What lies in a wire before its sender has to wait, as a socket's buffers would.
constexpr std::size_t pipe_bytes = 262144;
// How long a connection is retried, and how long what is written may stay without an answer.
constexpr nanoseconds connect_limit = std::chrono::seconds(3);
constexpr nanoseconds user_timeout = std::chrono::seconds(5);
// A connection whose peer is silent is given up after this, as TCP does with keep-alive probes.
constexpr nanoseconds keep_alive = std::chrono::seconds(10);
constexpr nanoseconds retransmission = std::chrono::milliseconds(2);

/// First in, first out; unlike a std::deque without memory until it is used, which counts with a million
/// links.
template <class T>
class small_queue {
 public:
  bool empty() const noexcept { return items_.empty(); }
  std::size_t size() const noexcept { return items_.size() - first_; }
  T& front() noexcept { return items_[first_]; }
  T& back() noexcept { return items_.back(); }
  void push_back(T item) {
    constexpr std::size_t worth_it = 16;
    if (first_ >= worth_it && first_ * 2 >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    items_.push_back(std::move(item));
  }
  void pop_front() noexcept {
    if (++first_ == items_.size()) clear();
  }
  void clear() noexcept {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace

/// One end of a wire. What it writes lies in its peer's queue until it is due.
class sim_link final : public link, public list_hook<> {
 public:
  sim_link(sim_rail& owner, std::uint32_t remote) noexcept
      : rail_(owner), remote_(remote), assembler_(owner.network_.frames_), timer_(*this), drained_(*this) {
    ++rail_.open_;
    network().links_.push_back(*this);
  }

  static void join(sim_link& a, sim_link& b) noexcept {
    a.peer_ = &b;
    b.peer_ = &a;
  }

  bool writable() const noexcept override { return !drained_.scheduled() && !blocked_; }
  std::size_t batch_bytes() const noexcept override { return 65536; }
  std::string peer_name() const override { return sim_network::address_of(remote_); }

  void write(std::span<const frame_parts> frames) noexcept override {
    SCOLL_ASSERT(writable(), "one batch at a time");
    if (peer_ != nullptr) {
      transmit(frames);
      blocked_ = peer_ != nullptr && peer_->queued_bytes_ >= pipe_bytes;
    } else if (silent_) {
      const bool answered = world().host(remote_) != nullptr && outward().blocked_until <= world().now();
      end_after(answered ? 2 * outward().model.latency : user_timeout,
                {errc::connection_lost, answered ? "connection reset" : "no acknowledgement from the peer"});
    }
    if (!blocked_) home().schedule(drained_);
  }

  void close() noexcept override {
    owner_ = nullptr;
    if (peer_ != nullptr) peer_->end_after_queue({errc::connection_lost, "the peer closed the connection"});
    die();
  }

  bool between(std::uint32_t a, std::uint32_t b) const noexcept {
    return (host() == a && remote_ == b) || (host() == b && remote_ == a);
  }
  std::uint32_t host() const noexcept { return rail_.home_.host(); }
  bool of(const sim_rail& rail) const noexcept { return &rail_ == &rail; }

  /// This end hears that the connection is gone; the other hears nothing by it.
  void reset(const error& reason) noexcept {
    drop_queue();
    end_after(outward().model.latency, reason);
  }
  /// The other end is gone and this one does not know.
  void deafen() noexcept {
    peer_ = nullptr;
    silent_ = true;
    end_after(keep_alive, {errc::connection_lost, "the peer does not answer"});
    unblock();
  }
  /// This end belongs to a life that has crashed.
  void bury() noexcept {
    peer_ = nullptr;
    silent_ = false;
    ending_.reset();
    drop_queue();
    timer_.cancel();
    unblock();
  }
  void break_buried() noexcept { finish({errc::connection_lost, "the host has crashed"}); }

 private:
  friend class sim_rail;
  friend class sim_network;

  struct chunk {
    buffer_ref bytes;
    std::size_t size;
    nanoseconds due;
  };
  struct ending {
    nanoseconds at;
    error reason;
  };
  /// Waits for the time something is due, and then until the host takes it.
  class delivery final : public timer_node, public sim_waiter {
   public:
    explicit delivery(sim_link& owner) noexcept : timer_node(&fire), sim_waiter(&run), owner_(owner) {}
    ~delivery() = default;

    bool pending() const noexcept { return armed() || linked(); }
    void cancel() noexcept {
      if (armed()) owner_.world().disarm(*this);
      unlink();
    }

   private:
    static void fire(timer_node& node) noexcept { static_cast<delivery&>(node).owner_.arrive(); }
    static void run(sim_waiter& waiter) noexcept { static_cast<delivery&>(waiter).owner_.arrive(); }
    sim_link& owner_;
  };
  class drained final : public ready_node {
   public:
    explicit drained(sim_link& owner) noexcept : ready_node(&run), owner_(owner) {}
    ~drained() = default;

   private:
    static void run(ready_node& node) noexcept {
      sim_link& self = static_cast<drained&>(node).owner_;
      if (self.owner_ != nullptr) self.owner_->on_writable();
    }
    sim_link& owner_;
  };

  sim_network& network() const noexcept { return rail_.network_; }
  sim_world& world() const noexcept { return rail_.network_.world_; }
  sim_executor& home() const noexcept { return rail_.home_; }
  const sim_path& outward() const noexcept { return network().way(host(), remote_); }
  const sim_path& inward() const noexcept { return network().way(remote_, host()); }

  // ---- sending

  void transmit(std::span<const frame_parts> frames) noexcept {
    const sim_path& way = outward();
    const sim_link_model& model = way.model;
    const nanoseconds now = world().now();
    nanoseconds& sending_until = network().sending_until_[host()];
    const nanoseconds departs = std::max(now, sending_until) + model.overhead;
    const auto jitter = static_cast<std::uint64_t>(model.jitter.count());
    nanoseconds latency =
        model.latency + nanoseconds(static_cast<std::int64_t>(world().random().below(jitter + 1)));
    if (now < way.slow_until) latency += way.extra;
    const std::uint64_t ps_per_byte = model.ps_per_byte * (now < way.narrow_until ? way.narrowing : 1);
    std::size_t sent = 0;
    for (const frame_parts& f : frames) {
      f.each_piece([&](std::span<const std::byte> piece) {
        sent += piece.size();
        send_piece(piece, departs + latency + byte_time(sent, ps_per_byte));
      });
    }
    if (model.sender_busy) home().occupy(model.overhead);
    sending_until = departs + std::max<nanoseconds>(model.gap - model.overhead, nanoseconds(0)) +
                    byte_time(sent, ps_per_byte);
    if (peer_ != nullptr) peer_->wake();
  }

  static nanoseconds byte_time(std::size_t bytes, std::uint64_t ps_per_byte) noexcept {
    return nanoseconds(static_cast<std::int64_t>(bytes * ps_per_byte / 1000));
  }

  void send_piece(std::span<const std::byte> bytes, nanoseconds due) noexcept {
    while (!bytes.empty() && peer_ != nullptr) {
      chunk* const into = peer_->tail(due);
      if (into == nullptr) return break_both({errc::connection_lost, "the network ran out of buffers"});
      const std::size_t n = std::min(bytes.size(), network().chunk_bytes_ - into->size);
      std::memcpy(into->bytes.data() + into->size, bytes.data(), n);
      into->size += n;
      into->due = std::max(into->due, due);
      peer_->queued_bytes_ += n;
      network().bytes_carried_ += n;
      bytes = bytes.subspan(n);
    }
  }

  /// Where bytes that are due then go: pieces of one batch share a chunk.
  chunk* tail(nanoseconds due) noexcept {
    constexpr nanoseconds batch = std::chrono::microseconds(5);
    if (queue_.empty() || queue_.back().due + batch < due || queue_.back().size == network().chunk_bytes_ ||
        (timer_.pending() && queue_.size() == 1)) {
      buffer_ref bytes = network().chunks_.try_acquire();
      if (!bytes) return nullptr;
      const nanoseconds after = queue_.empty() ? nanoseconds(0) : queue_.back().due;
      queue_.push_back({std::move(bytes), 0, std::max(due, after)});
    }
    return &queue_.back();
  }

  void unblock() noexcept {
    if (!std::exchange(blocked_, false)) return;
    home().schedule(drained_);
    home().touch();
  }

  // ---- the end of a connection

  void break_both(const error& reason) noexcept {
    if (sim_link* const other = std::exchange(peer_, nullptr)) {
      other->peer_ = nullptr;
      other->reset(reason);
      other->unblock();
    }
    reset(reason);
    unblock();
  }

  void drop_queue() noexcept {
    queue_.clear();
    queued_bytes_ = 0;
    timer_.cancel();
  }

  /// The earliest of several ends holds.
  void end_after(nanoseconds d, const error& reason) noexcept {
    const nanoseconds at = world().now() + d;
    if (ending_ != nullptr && ending_->at <= at) return wake();
    ending_ = std::make_unique<ending>(ending{at, reason});
    if (queue_.empty()) timer_.cancel();
    wake();
  }

  void end_after_queue(const error& reason) noexcept {
    peer_ = nullptr;
    unblock();
    end_after(inward().model.latency, reason);
  }

  // ---- receiving

  void wake() noexcept {
    if (timer_.pending() || (queue_.empty() && ending_ == nullptr)) return;
    world().arm(timer_, queue_.empty() ? ending_->at : queue_.front().due);
  }

  /// Something is due: unless the way is blocked or the host is busy, when it has to wait.
  void arrive() noexcept {
    const nanoseconds now = world().now();
    const bool comes_from_peer = !queue_.empty() || peer_ != nullptr;
    if (comes_from_peer && inward().blocked_until > now)
      return world().arm(timer_, inward().blocked_until + retransmission);
    if (home().available_at() > now) return home().when_available(timer_);
    home().occupy(inward().model.overhead);
    home().enter([this]() noexcept { deliver(); });
  }

  void deliver() noexcept {
    if (queue_.empty()) return finish(ending_->reason);
    chunk c = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= c.size;
    if (peer_ != nullptr && queued_bytes_ < pipe_bytes) peer_->unblock();
    const std::span<std::byte> bytes(c.bytes.data(), c.size);
    corrupt(bytes);
    world().record(sim_trace::delivery, host(), (std::uint64_t{remote_} << 32) | c.size,
                   wire::checksum(bytes));
    bool alive = true;
    bool cut = false;
    alive_ = &alive;
    assembler_.set_owner(owner_);
    const auto s = assembler_.feed(c.bytes, bytes, [&](frame_view& frame) {
      if (owner_ != nullptr) owner_->on_frame(frame);
      if (alive) cut = last_before_cut();
      return alive && !cut;
    });
    if (!alive) return;
    alive_ = nullptr;
    if (cut) return break_both({errc::connection_lost, "the connection was cut"});
    if (s) return wake();
    if (peer_ != nullptr) peer_->end_after_queue({errc::connection_lost, "the peer dropped the connection"});
    finish(s.error());
  }

  bool last_before_cut() noexcept {
    if (inward().cut_after == 0) return false;
    return --network().path(remote_, host()).cut_after == 0;
  }

  void corrupt(std::span<std::byte> bytes) noexcept {
    if (inward().corrupt_next == 0 || bytes.empty()) return;
    --network().path(remote_, host()).corrupt_next;
    const std::uint64_t position = world().random().below(bytes.size());
    const std::uint64_t flipped = 1 + world().random().below(255);
    bytes[position] ^= static_cast<std::byte>(flipped);
  }

  void finish(error reason) noexcept {  // a copy: it may be this link's own
    world().record(sim_trace::broken, host(), remote_, static_cast<std::uint64_t>(reason.code()));
    link_events* const owner = std::exchange(owner_, nullptr);
    die();
    if (owner != nullptr) owner->on_closed(reason);
  }

  void die() noexcept {
    if (peer_ != nullptr) peer_->peer_ = nullptr;
    if (alive_ != nullptr) *alive_ = false;
    timer_.cancel();
    home().unschedule(drained_);
    --rail_.open_;
    delete this;
  }

  sim_rail& rail_;
  std::uint32_t remote_;
  frame_assembler assembler_;
  sim_link* peer_ = nullptr;
  small_queue<chunk> queue_;
  std::size_t queued_bytes_ = 0;
  bool blocked_ = false;
  bool silent_ = false;
  delivery timer_;
  drained drained_;
  std::unique_ptr<ending> ending_;
  bool* alive_ = nullptr;
};

// ---- network

sim_network::sim_network(sim_world& world, std::size_t chunk_bytes)
    : world_(world),
      chunk_bytes_(std::clamp(chunk_bytes, smallest_chunk_bytes, largest_chunk_bytes)),
      chunks_(chunk_bytes_, std::max<std::size_t>(pool_limit, chunks_per_host * world.hosts())),
      frames_(max_frame_bytes, pool_limit),
      listeners_(world.hosts()),
      mute_(world.hosts()),
      sending_until_(world.hosts()) {}

sim_network::~sim_network() {
  SCOLL_ASSERT(links_.empty(), "a simulated network died before its rails");
}

sim_path& sim_network::path(std::uint32_t from, std::uint32_t to) {
  return paths_.try_emplace({from, to}, common_).first->second;
}

const sim_path& sim_network::way(std::uint32_t from, std::uint32_t to) const noexcept {
  if (paths_.empty()) return common_;
  const auto own = paths_.find({from, to});
  return own == paths_.end() ? common_ : own->second;
}

/// `hosts()` if there is none of that address.
std::uint32_t sim_network::host_of(const std::string& address) const {
  std::uint32_t host = world_.hosts();
  const char* const end = address.data() + address.size();
  if (address.starts_with(address_prefix)) std::from_chars(address.data() + address_prefix.size(), end, host);
  return host < world_.hosts() && address_of(host) == address ? host : world_.hosts();
}

sim_link* sim_network::any_link_of(const sim_rail& rail) noexcept {
  sim_link* l = links_.first();
  while (l != nullptr && !l->of(rail)) l = links_.next(*l);
  return l;
}

void sim_network::cut(std::uint32_t a, std::uint32_t b) {
  for (sim_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (l->between(a, b) && l->peer_ != nullptr)
      l->break_both({errc::connection_lost, "the connection was cut"});
  }
}

void sim_network::half_open(std::uint32_t a, std::uint32_t b) {
  for (sim_link* l = links_.first(); l != nullptr; l = links_.next(*l)) {
    if (!l->between(a, b) || l->host() != a || l->peer_ == nullptr) continue;
    std::exchange(l->peer_, nullptr)->deafen();
    l->reset({errc::connection_lost, "the connection was reset at this end"});
    l->unblock();
  }
}

void sim_network::heal() noexcept {
  common_ = {.model = common_.model};
  for (auto& [hosts, p] : paths_) p = {.model = p.model};
}

// ---- connecting

/// A connection attempt on its way. Its timer is the world's, or the host's own once that has crashed.
class sim_rail::connector final : public list_hook<>, public timer_node, public sim_waiter {
 public:
  connector(sim_rail& owner, const std::string& to, connect_events& waiter) noexcept
      : timer_node(&fire), sim_waiter(&run), rail_(owner), to_(owner.network_.host_of(to)), waiter_(&waiter) {
    ++rail_.open_;
    started_ = rail_.network_.world_.now();
    if (rail_.crashed_) {
      strand();
      return;
    }
    const nanoseconds latency = known() ? rail_.network_.way(from(), to_).model.latency : nanoseconds(0);
    rail_.network_.world_.arm(*this, started_ + 2 * latency);
  }
  ~connector() {
    if (armed() && stranded_) rail_.home_.disarm(*this);
    if (armed() && !stranded_) rail_.network_.world_.disarm(*this);
    --rail_.open_;
  }
  bool of(const connect_events& waiter) const noexcept { return waiter_ == &waiter; }

  /// The host has crashed: the attempt fails, by the host's own clock.
  void strand() noexcept {
    if (armed()) rail_.network_.world_.disarm(*this);
    list_hook<sim_waiter>::unlink();
    stranded_ = true;
    rail_.home_.arm(*this, rail_.home_.now() + std::chrono::milliseconds(1));
  }

 private:
  static void fire(timer_node& node) noexcept {
    auto& self = static_cast<connector&>(node);
    if (self.stranded_) return self.fail({errc::unreachable, "this host has crashed"});
    self.decide();
  }

  static void run(sim_waiter& waiter) noexcept { static_cast<connector&>(waiter).decide(); }

  std::uint32_t from() const noexcept { return rail_.home_.host(); }
  bool known() const noexcept { return to_ < rail_.network_.world_.hosts(); }

  void decide() noexcept {
    sim_network& network = rail_.network_;
    const nanoseconds now = network.world_.now();
    if (rail_.home_.available_at() > now) return rail_.home_.when_available(*this);
    sim_rail* const target = known() ? network.listeners_[to_] : nullptr;
    if (target == nullptr && known() && network.mute_[to_]) return wait_until(nanoseconds::max());
    if (target == nullptr) return fail_at_home({errc::unreachable, "nobody listens there"});
    const sim_path& there = network.way(from(), to_);
    const nanoseconds open_at =
        std::max({there.blocked_until, network.way(to_, from()).blocked_until, target->home_.available_at()});
    if (open_at > now) return wait_until(open_at);
    if (there.refused_until > now) return fail_at_home({errc::unreachable, "the connection was refused"});
    succeed(*target);
  }

  /// Tries again then, or at the end of its patience.
  void wait_until(nanoseconds at) noexcept {
    const nanoseconds patience = started_ + connect_limit;
    if (rail_.network_.world_.now() >= patience)
      return fail_at_home({errc::unreachable, "the connection timed out"});
    rail_.network_.world_.arm(*this, at < patience ? at + retransmission : patience);
  }

  void succeed(sim_rail& target) noexcept {
    sim_rail& source = rail_;
    sim_world& world = source.network_.world_;
    connect_events& waiter = *waiter_;
    const std::uint32_t to = to_;
    const std::uint32_t initiator = from();
    delete this;
    auto* ours = new sim_link(source, to);
    auto* theirs = new sim_link(target, initiator);
    sim_link::join(*ours, *theirs);
    world.record(sim_trace::connection, initiator, to, 0);
    target.home_.enter([&]() noexcept { target.acceptor_->on_accepted(*theirs); });
    source.home_.enter([&]() noexcept { waiter.on_connected(*ours); });
  }

  void fail_at_home(const error& reason) noexcept {
    rail_.home_.enter([&]() noexcept { fail(reason); });
  }
  void fail(error reason) noexcept {
    connect_events& waiter = *waiter_;
    delete this;
    waiter.on_connect_failed(reason);
  }

  sim_rail& rail_;
  std::uint32_t to_;
  connect_events* waiter_;
  nanoseconds started_{0};
  bool stranded_ = false;
};

// ---- rail

sim_rail::sim_rail(sim_network& network, sim_executor& home) : network_(network), home_(home) {}

sim_rail::~sim_rail() {
  stop_listening();
  while (!connecting_.empty()) delete &connecting_.pop_front();
  SCOLL_ASSERT(
      open_ == 0,
      "a rail died before its links: await node.shutdown(...), then destroy the node, then the rail");
}

status sim_rail::listen(const std::string& address, accept_events& events) noexcept {
  if (address != listen_address())
    return make_error(errc::invalid_argument, "{} is not the address of {}", address, listen_address());
  if (network_.listeners_[home_.host()] != nullptr)
    return make_error(errc::already_exists, "{} is taken", address);
  network_.listeners_[home_.host()] = this;
  network_.mute_[home_.host()] = false;
  acceptor_ = &events;
  return {};
}

void sim_rail::stop_listening() noexcept {
  if (acceptor_ != nullptr && network_.listeners_[home_.host()] == this)
    network_.listeners_[home_.host()] = nullptr;
  acceptor_ = nullptr;
}

void sim_rail::connect(const std::string& address, connect_events& waiter) noexcept {
  connecting_.push_back(*new connector(*this, address, waiter));
}

void sim_rail::cancel_connect(connect_events& waiter) noexcept {
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) {
    if (c->of(waiter)) {
      delete c;
      return;
    }
  }
}

void sim_rail::crash(sim_crash how) {
  stop_listening();
  crashed_ = true;
  network_.mute_[home_.host()] = how == sim_crash::silent;
  for (sim_link* l = network_.links_.first(); l != nullptr; l = network_.links_.next(*l)) {
    if (!l->of(*this)) continue;
    if (sim_link* const other = std::exchange(l->peer_, nullptr)) {
      if (how == sim_crash::silent) {
        other->deafen();
      } else {
        other->end_after_queue({errc::connection_lost, "connection reset: the peer's process died"});
      }
    }
    l->bury();
  }
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) c->strand();
}

void sim_rail::break_all() {
  SCOLL_ASSERT(crashed_, "only a crashed life is broken off");
  while (sim_link* const l = network_.any_link_of(*this)) {
    home_.enter([l]() noexcept { l->break_buried(); });
  }
}

}  // namespace scoll::transport
