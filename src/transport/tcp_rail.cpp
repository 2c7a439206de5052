#include "../../include/transport/tcp_rail.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "../../include/coro/error_format.hpp"
#include "../../include/coro/member_node.hpp"
#include "../../include/transport/address.hpp"
#include "../../include/transport/frame_assembler.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t batch_bytes = 65536;
// Closed links that may wait for their peer at once; more are cut short, so that nobody can pile them up.
constexpr std::size_t linger_count_limit = 256;
// Of a link that expects bulk: what one step receives at most, and what it reads behind a payload, where the
// next frame begins.
constexpr std::size_t receive_step_bytes = 524288;
constexpr std::size_t read_ahead_bytes = 1024;
// Pieces of one system call.
constexpr std::size_t most_pieces = 64;
constexpr nanoseconds accept_retry = std::chrono::milliseconds(50);

/// With its name before it or without.
result<socket_address> parse_tcp(std::string_view address) {
  const named_address named = split_name(address);
  if (named.transport.empty() || named.transport == "tcp") return socket_address::parse(named.place);
  return make_error(errc::unsupported, "{} is no address of tcp", address);
}

}  // namespace

/// One connection. It lives until its receive, its send and its close have completed, whoever has let go of
/// it.
///
/// ```
///          close()                          peer closes, or limit
///   open ───────────► lingering ───────────────────────────────────► ending ──► gone
///    │                (sends the rest, half-closes, reads and drops)   ▲
///    └── breaks: the owner is told ────────────────────────────────────┘
/// ```
/// Frames are copied into a batch that the ring sends. Lent memory is sent where it lies, and received into
/// where it belongs, by system calls that do not wait, each when the socket is ready: so the kernel never
/// holds on to memory that may be recalled (docs/decisions/0008).
///
/// It lingers because a socket that is closed with unread bytes resets the connection, and the peer would
/// lose what it has not read yet: a goodbye, or why it was refused.
class tcp_rail::tcp_link final : public link {
 public:
  tcp_link(tcp_rail& owner, unique_fd fd, std::string peer) noexcept
      : rail_(owner),
        fd_(std::move(fd)),
        peer_(std::move(peer)),
        assembler_(owner.frame_buffers_),
        receive_(*this, &tcp_link::on_received),
        send_(*this, &tcp_link::on_sent),
        close_(*this, &tcp_link::on_file_closed),
        linger_(*this) {
    ++rail_.open_;
    rail_.reactor_.receive_multishot(fd_.get(), receive_);
  }

  bool writable() const noexcept override {
    return !send_.pending() && !written_out_.scheduled() && owner_ != nullptr && !broken_;
  }
  std::size_t batch_bytes() const noexcept override { return transport::batch_bytes; }
  std::string peer_name() const override { return peer_; }

  void write(std::span<const frame_parts> frames) noexcept override {
    SCOLL_ASSERT(writable(), "one batch at a time");
    written_ = true;
    batch_ = rail_.send_buffers_.try_acquire();
    if (!batch_) return break_link({errc::busy, "no send buffer left"});
    std::size_t size = 0;
    for (const frame_parts& f : frames) {
      size = append(size, f.head);
      size = append(size, f.payload);
    }
    unsent_ = {batch_.data(), size};
    lent_ = frames.back().lent;
    if (!lent_) return rail_.reactor_.send_lazily(fd_.get(), unsent_, send_);
    source_.borrow(*lent_.memory);
    pushing_ = true;
    push();
  }

  void hurry() noexcept override { rail_.reactor_.hurry(send_); }

  void expect_bulk() noexcept override {
    if (polling_ || broken_ || ending_) return;
    polling_ = true;
    rail_.reactor_.cancel(receive_);
  }

  void close() noexcept override {
    owner_ = nullptr;
    assembler_.set_owner(nullptr);
    assembler_.forget_room();
    if (broken_ || !written_ || rail_.lingering_ >= linger_count_limit) return end();
    ++rail_.lingering_;
    rail_.reactor_.arm(linger_, rail_.reactor_.now() + rail_.options_.linger_limit);
    if (!send_.pending() && !written_out_.scheduled()) half_close();
    hurry();
  }

 private:
  using later = member_node<tcp_link>;

  /// The memory that is being sent from. When it is recalled, what is left of its frame is copied: the peer
  /// waits for so many bytes.
  class source final : public borrower {
   public:
    explicit source(tcp_link& owner) noexcept : borrower(&recalled), owner_(owner) {}
    ~source() = default;

   private:
    static void recalled(borrower& self) noexcept { static_cast<source&>(self).owner_.rescue(); }
    tcp_link& owner_;
  };
  class operation final : public io_completion {
   public:
    using handler = void (tcp_link::*)(const event&) noexcept;
    operation(tcp_link& owner, handler h) noexcept : io_completion(&complete), owner_(owner), handler_(h) {}
    ~operation() = default;

   private:
    static void complete(io_completion& self, const event& e) noexcept {
      auto& op = static_cast<operation&>(self);
      (op.owner_.*op.handler_)(e);
    }
    tcp_link& owner_;
    handler handler_;
  };

  std::size_t append(std::size_t at, std::span<const std::byte> bytes) noexcept {
    SCOLL_ASSERT(at + bytes.size() <= transport::batch_bytes, "a batch exceeds its limit");
    if (!bytes.empty()) std::memcpy(batch_.data() + at, bytes.data(), bytes.size());
    return at + bytes.size();
  }

  // ---- sending from lent memory

  void push() noexcept {
    while (true) {
      std::array<iovec, most_pieces> pieces;
      msghdr message{};
      message.msg_iov = pieces.data();
      message.msg_iovlen = unsent_pieces(pieces);
      const std::int64_t sent = rail_.reactor_.send_now(fd_.get(), message);
      if (sent == -EAGAIN || sent == -EINTR) return rail_.reactor_.poll(fd_.get(), POLLOUT, send_);
      if (sent < 0) return send_failed(static_cast<int>(-sent));
      if (all_sent_after(static_cast<std::size_t>(sent))) return rail_.reactor_.schedule(written_out_);
      if (message.msg_iovlen < most_pieces) return rail_.reactor_.poll(fd_.get(), POLLOUT, send_);
    }
  }

  std::size_t unsent_pieces(std::span<iovec> pieces) noexcept {
    std::size_t count = 0;
    const auto put = [&](std::span<const std::byte> bytes) {
      if (!bytes.empty() && count < pieces.size())
        pieces[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    };
    put(unsent_);
    if (rescued_ != nullptr) {
      put({rescued_.get() + lent_.offset, lent_.size});
    } else {
      std::uint64_t at = lent_.offset;
      for (std::size_t left = lent_.size; left != 0 && count < pieces.size();) {
        const auto next = lent_.memory->piece(at);
        const std::size_t n = std::min(next.size(), left);
        put(next.first(n));
        at += n;
        left -= n;
      }
    }
    return count;
  }

  bool all_sent_after(std::size_t sent) noexcept {
    const std::size_t copied = std::min(sent, unsent_.size());
    unsent_ = unsent_.subspan(copied);
    lent_.offset += sent - copied;
    lent_.size -= static_cast<std::uint32_t>(sent - copied);
    return unsent_.empty() && lent_.size == 0;
  }

  void rescue() noexcept {
    if (lent_.size == 0) return;
    rescued_.reset(new (std::nothrow) std::byte[lent_.size]);
    if (rescued_ == nullptr) {
      lent_ = {};
      return break_link({errc::busy, "no memory left for what was being sent"});
    }
    lent_.memory->copy_out(lent_.offset, {rescued_.get(), lent_.size});
    lent_.offset = 0;
  }

  void forget_lent() noexcept {
    source_.give_back();
    rescued_.reset();
    lent_ = {};
  }

  void on_sendable(const io_completion::event& e) noexcept {
    if (ending_) return finish_if_done();
    if (broken_) return;
    if (e.result < 0) return send_failed(-e.result);
    push();
  }

  void send_failed(int reason) noexcept {
    forget_lent();
    if (owner_ == nullptr) return end();
    break_link(error::system(reason, "send"));
  }

  void on_written_out() noexcept {
    forget_lent();
    pushing_ = false;
    batch_.reset();
    if (owner_ == nullptr) return half_close();
    if (!broken_) owner_->on_writable();
  }

  // ---- receiving to where it belongs

  void on_readable(const io_completion::event& e) noexcept {
    if (ending_) return finish_if_done();
    if (e.result < 0 && e.result != -ECANCELED) return receive_ended(e.result);
    read_some();
  }

  void read_some() noexcept {
    if (broken_) return;
    for (std::size_t step = 0; step < receive_step_bytes;) {
      const slab_ref behind = rail_.frame_buffers_.try_acquire();
      if (!behind) return break_link({errc::busy, "no buffer left to receive into"});
      std::array<iovec, most_pieces> pieces;
      msghdr message{};
      message.msg_iov = pieces.data();
      const std::size_t straight = room_pieces(std::span(pieces).first(most_pieces - 1), message.msg_iovlen);
      const std::size_t ahead = straight == 0 ? behind.capacity() : read_ahead_bytes;
      pieces[message.msg_iovlen++] = {behind.data(), ahead};
      const std::int64_t got = rail_.reactor_.receive_now(fd_.get(), message);
      if (got == -EAGAIN || got == -EINTR) break;
      if (got <= 0) return receive_ended(static_cast<std::int32_t>(got));
      const auto received = static_cast<std::size_t>(got);
      take(behind, std::min(received, straight), received - std::min(received, straight));
      if (ending_ || broken_) return;
      if (received < straight + ahead) break;
      step += received;
      if (step >= receive_step_bytes) return rail_.reactor_.schedule(read_on_);
    }
    rail_.reactor_.poll(fd_.get(), POLLIN | POLLRDHUP, receive_);
  }

  /// How many bytes the pieces have; they may be fewer than are to come.
  std::size_t room_pieces(std::span<iovec> pieces, std::size_t& count) noexcept {
    const lent_range room = owner_ == nullptr ? lent_range{} : assembler_.room();
    std::size_t bytes = 0;
    while (room && bytes < room.size && count < pieces.size()) {
      const auto next = room.memory->piece(room.offset + bytes);
      const std::size_t n = std::min(next.size(), room.size - bytes);
      pieces[count++] = {next.data(), n};
      bytes += n;
    }
    return bytes;
  }

  void take(const slab_ref& behind, std::size_t straight, std::size_t ahead) noexcept {
    if (owner_ == nullptr) return;  // lingering: read and dropped
    const auto sink = [this](frame_view& f) {
      owner_->on_frame(f);
      return owner_ != nullptr && !broken_;
    };
    assembler_.set_owner(owner_);
    if (straight != 0) assembler_.advance(straight, sink);
    if (owner_ == nullptr || broken_ || ahead == 0) return;
    assembler_.set_owner(owner_);
    const auto s = assembler_.feed(behind, {behind.data(), ahead}, sink);
    if (!s) break_link(s.error());
  }

  void receive_ended(std::int32_t outcome) noexcept {
    if (owner_ == nullptr) return end();
    break_link(outcome == 0 ? error(errc::connection_lost, "the peer closed the connection")
                            : error::system(-outcome, "receive"));
  }

  void on_received(const io_completion::event& e) noexcept {
    if (polled_) return on_readable(e);
    if (polling_ && e.result == -ECANCELED && !ending_) {
      polled_ = true;
      return read_some();
    }
    if (e.result <= 0) {
      if (owner_ == nullptr) return end();
      break_link(e.result == 0 ? error(errc::connection_lost, "the peer closed the connection")
                               : error::system(-e.result, "receive"));
      return;
    }
    if (owner_ == nullptr || broken_) return;
    const slab_ref buffer = std::move(*e.buffer);
    assembler_.set_owner(owner_);
    const auto s =
        assembler_.feed(buffer, {buffer.data(), static_cast<std::size_t>(e.result)}, [this](frame_view& f) {
          owner_->on_frame(f);
          return owner_ != nullptr && !broken_;
        });
    if (!s) break_link(s.error());
  }

  void on_sent(const io_completion::event& e) noexcept {
    if (pushing_) return on_sendable(e);
    if (e.result > 0) unsent_ = unsent_.subspan(static_cast<std::size_t>(e.result));
    if (e.result > 0 && !unsent_.empty() && !ending_) return rail_.reactor_.send(fd_.get(), unsent_, send_);
    batch_.reset();
    if (ending_) return finish_if_done();
    if (e.result <= 0) {
      if (owner_ == nullptr) return end();
      return break_link(error::system(e.result == 0 ? EPIPE : -e.result, "send"));
    }
    if (owner_ == nullptr) return half_close();
    if (!broken_) owner_->on_writable();
  }

  /// The connection is of no more use: tells the owner, in a step of its own.
  void break_link(const error& reason) noexcept {
    if (broken_) return;
    broken_ = true;
    reason_ = reason;
    rail_.reactor_.schedule(told_);
  }

  void tell_owner() noexcept {
    link_events* owner = std::exchange(owner_, nullptr);
    end();
    if (owner != nullptr) owner->on_closed(reason_);
  }

  void half_close() noexcept { ::shutdown(fd_.get(), SHUT_WR); }

  void end() noexcept {
    if (linger_.armed()) {
      rail_.reactor_.disarm(linger_);
      --rail_.lingering_;
    }
    if (!ending_) {
      ending_ = true;
      ::shutdown(fd_.get(), SHUT_RDWR);
      rail_.reactor_.cancel(receive_);
      rail_.reactor_.cancel(send_);
      rail_.reactor_.unschedule(written_out_);
      rail_.reactor_.unschedule(read_on_);
      forget_lent();
      assembler_.forget_room();
    }
    finish_if_done();
  }

  void finish_if_done() noexcept {
    if (receive_.pending() || send_.pending() || close_.pending() || told_.scheduled()) return;
    rail_.reactor_.close_socket(fd_.release(), close_);
  }

  void on_file_closed(const io_completion::event&) noexcept {
    --rail_.open_;
    delete this;
  }

  class linger_timer final : public timer_node {
   public:
    explicit linger_timer(tcp_link& owner) noexcept : timer_node(&fire), owner_(owner) {}
    ~linger_timer() = default;

   private:
    static void fire(timer_node& node) noexcept {
      tcp_link& self = static_cast<linger_timer&>(node).owner_;
      --self.rail_.lingering_;
      self.end();
    }
    tcp_link& owner_;
  };

  tcp_rail& rail_;
  unique_fd fd_;
  std::string peer_;
  frame_assembler assembler_;
  operation receive_;
  operation send_;
  operation close_;
  later told_{*this, &tcp_link::tell_owner};
  later written_out_{*this, &tcp_link::on_written_out};
  later read_on_{*this, &tcp_link::read_some};
  linger_timer linger_;
  slab_ref batch_;
  std::span<const std::byte> unsent_;  // of the batch
  lent_range lent_;                    // what follows it; of `rescued_` if that is there
  source source_{*this};
  std::unique_ptr<std::byte[]> rescued_;
  error reason_;
  bool written_ = false;  // ever
  bool pushing_ = false;  // the batch ends with lent memory
  bool polling_ = false;  // bulk is expected: receives when there is something
  bool polled_ = false;   // and does so already
  bool broken_ = false;
  bool ending_ = false;
};

/// The listening socket and its endless accept.
class tcp_rail::listener final : public io_completion, public timer_node {
 public:
  listener(tcp_rail& owner, unique_fd fd, accept_events& events) noexcept
      : io_completion(&complete), timer_node(&try_again), rail_(owner), fd_(std::move(fd)), events_(&events) {
    rail_.reactor_.accept_multishot(fd_.get(), *this);
  }
  ~listener() = default;

  void stop() noexcept {
    events_ = nullptr;
    ++rail_.open_;
    rail_.listener_ = nullptr;
    if (armed()) rail_.reactor_.disarm(*this);
    if (!pending()) return gone();
    rail_.reactor_.cancel(*this);
  }

 private:
  static void complete(io_completion& self, const event& e) noexcept {
    auto& l = static_cast<listener&>(self);
    if (e.result >= 0) l.accepted(unique_fd(e.result));
    if (e.more) return;
    if (l.events_ == nullptr) return l.gone();
    // Out of descriptors, say: the connections wait in the kernel meanwhile.
    l.rail_.reactor_.arm(l, l.rail_.reactor_.now() + accept_retry);
  }

  static void try_again(timer_node& node) noexcept {
    auto& l = static_cast<listener&>(node);
    l.rail_.reactor_.accept_multishot(l.fd_.get(), l);
  }

  void accepted(unique_fd fd) noexcept {
    if (events_ == nullptr || !rail_.prepare(fd.get())) return;
    const auto peer = peer_address(fd.get());
    events_->on_accepted(*new tcp_link(rail_, std::move(fd), peer ? peer->to_string() : "unknown"));
  }

  void gone() noexcept {
    --rail_.open_;
    delete this;
  }

  tcp_rail& rail_;
  unique_fd fd_;
  accept_events* events_;
};

/// One connection attempt with its limit. It stays until the kernel has let go of it, even when nobody waits.
class tcp_rail::connector final : public io_completion, public timer_node, public list_hook<> {
 public:
  connector(tcp_rail& owner, connect_events& waiter) noexcept
      : io_completion(&complete), timer_node(&expired), rail_(owner), waiter_(&waiter) {
    ++rail_.open_;
  }
  ~connector() {
    if (armed()) rail_.reactor_.disarm(*this);
    if (late_.scheduled()) rail_.reactor_.unschedule(late_);
    --rail_.open_;
  }

  bool of(const connect_events& waiter) const noexcept { return waiter_ == &waiter; }

  void begin(const std::string& address) noexcept {
    if (const auto s = try_begin(address); !s) {
      failure_ = s.error();
      rail_.reactor_.schedule(late_);
    }
  }

  void abandon() noexcept {
    waiter_ = nullptr;
    unlink();
    if (!pending()) {
      delete this;
      return;
    }
    rail_.reactor_.cancel(*this);
  }

 private:
  class late_failure final : public ready_node {
   public:
    explicit late_failure(connector& owner) noexcept : ready_node(&run), owner_(owner) {}
    ~late_failure() = default;

   private:
    static void run(ready_node& node) noexcept {
      connector& self = static_cast<late_failure&>(node).owner_;
      self.fail(self.failure_);
    }
    connector& owner_;
  };

  status try_begin(const std::string& address) noexcept {
    auto parsed = parse_tcp(address);
    if (!parsed) return parsed.error();
    to_ = *parsed;
    auto fd = open_stream(to_.family());
    if (!fd) return fd.error();
    fd_ = std::move(*fd);
    if (const auto s = rail_.prepare(fd_.get()); !s) return s;
    if (!rail_.options_.bind_source.empty()) {
      if (const auto s = rail_.bind_preferred(fd_.get(), to_.family()); !s) return s;
    }
    rail_.reactor_.arm(*this, rail_.reactor_.now() + rail_.options_.connect_limit);
    rail_.reactor_.connect(fd_.get(), to_.data(), to_.size(), *this);
    return {};
  }

  static void expired(timer_node& node) noexcept {
    auto& self = static_cast<connector&>(node);
    if (self.pending()) self.rail_.reactor_.cancel(self);
  }

  static void complete(io_completion& done, const event& e) noexcept {
    auto& self = static_cast<connector&>(done);
    if (self.waiter_ == nullptr) {
      delete &self;
      return;
    }
    if (e.result < 0) {
      const bool late = e.result == -ECANCELED;
      return self.fail(
          late ? make_error(errc::unreachable, "connect to {} took too long", self.to_.to_string())
               : make_error(errc::unreachable, "connect: {}",
                            error::system(-e.result, "").std_code().message()));
    }
    tcp_rail& rail = self.rail_;
    connect_events& waiter = *self.waiter_;
    unique_fd fd = std::move(self.fd_);
    const std::string peer = self.to_.to_string();
    delete &self;
    waiter.on_connected(*new tcp_link(rail, std::move(fd), peer));
  }

  void fail(const error& reason) noexcept {
    connect_events& waiter = *waiter_;
    const error copy = reason;
    delete this;
    waiter.on_connect_failed(copy);
  }

  tcp_rail& rail_;
  connect_events* waiter_;
  unique_fd fd_;
  socket_address to_;
  error failure_;
  late_failure late_{*this};
};

tcp_rail::tcp_rail(reactor& r, tcp_options options)
    : reactor_(r),
      options_(std::move(options)),
      send_buffers_(batch_bytes, options_.send_buffers),
      frame_buffers_(max_frame_bytes, options_.frame_buffers) {}

tcp_rail::~tcp_rail() {
  SCOLL_ASSERT(open_ == 0 && listener_ == nullptr, "a rail died before its links");
}

status tcp_rail::prepare(int fd) const noexcept {
  if (const auto s = set_no_delay(fd); !s) return s;
  if (options_.keep_alive > nanoseconds::zero()) {
    if (const auto s = set_keep_alive(fd, options_.keep_alive); !s) return s;
  }
  if (options_.unacknowledged_limit > nanoseconds::zero()) {
    if (const auto s = set_user_timeout(fd, options_.unacknowledged_limit); !s) return s;
  }
  if (options_.congestion_control.empty()) return {};
  return set_congestion_control(fd, options_.congestion_control.c_str());
}

status tcp_rail::bind_preferred(int fd, int family) const noexcept {
  const auto source = socket_address::parse(options_.bind_source);
  if (!source) return source.error();
  return source->family() == family ? bind_source(fd, *source) : status{};
}

status tcp_rail::listen(const std::string& address, accept_events& events) noexcept {
  if (listener_ != nullptr) return error(errc::already_exists, "this rail listens already");
  auto parsed = parse_tcp(address);
  if (!parsed) return parsed.error();
  auto fd = open_listener(*parsed, options_.backlog);
  if (!fd) return fd.error();
  const auto bound = local_address(fd->get());
  if (!bound) return bound.error();
  listen_address_ = bound->to_string();
  listener_ = new listener(*this, std::move(*fd), events);
  return {};
}

void tcp_rail::stop_listening() noexcept {
  if (listener_ != nullptr) listener_->stop();
}

void tcp_rail::connect(const std::string& address, connect_events& waiter) noexcept {
  auto* attempt = new connector(*this, waiter);
  connecting_.push_back(*attempt);
  attempt->begin(address);
}

void tcp_rail::cancel_connect(connect_events& waiter) noexcept {
  for (connector* c = connecting_.first(); c != nullptr; c = connecting_.next(*c)) {
    if (c->of(waiter)) return c->abandon();
  }
}

}  // namespace scoll::transport
