#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tests/catch.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/tcp/tcp_rail.hpp"
#include "transport/wire/wire.hpp"

/// Endpoints that talk to each other, in virtual time over memory or in real time over TCP.
namespace network {

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;

/// What endpoints live on.
class world {
 public:
  virtual ~world() = default;
  virtual executor& ex() = 0;
  virtual std::unique_ptr<rail> make_rail(node_id node) = 0;
  virtual std::string address(node_id node) const = 0;
  /// Lets time pass until `done()`; false if that takes longer than `limit` (real or virtual).
  bool until(const std::function<bool()>& done, nanoseconds limit = 20s) { return wait(done, limit); }
  virtual void pass(nanoseconds d) = 0;

 protected:
  virtual bool wait(const std::function<bool()>& done, nanoseconds limit) = 0;
};

/// Hosts of a simulated network that share a clock and are numbered as their nodes.
class memory_world final : public world {
 public:
  explicit memory_world(std::size_t chunk_bytes = sim_network::usual_chunk_bytes)
      : net(clock.world(), chunk_bytes, hosts) {
    set_latency(10us);
  }

  virtual_executor clock;
  sim_network net;

  void set_latency(nanoseconds latency) { net.common_path().model = sim_link_model::ideal(latency); }

  executor& ex() override { return clock; }
  std::unique_ptr<rail> make_rail(node_id node) override {
    return std::make_unique<sim_rail>(net, clock, static_cast<std::uint32_t>(node));
  }
  std::string address(node_id node) const override {
    return sim_network::address_of(static_cast<std::uint32_t>(node));
  }
  void pass(nanoseconds d) override { clock.run_for(d); }

 private:
  static constexpr std::uint32_t hosts = 64;

  bool wait(const std::function<bool()>& done, nanoseconds limit) override {
    const time_point end = clock.now() + limit;
    const bool endless = false;
    clock.run_now();
    while (!done()) {
      if (clock.now() >= end || !clock.run_step(endless)) return false;
      clock.run_now();
    }
    return true;
  }
};

class tcp_world final : public world {
 public:
  explicit tcp_world(std::string host, reactor_options engine_options = {})
      : host_(std::move(host)), reactor_(on_reactor::make(engine_options)) {}

  reactor& loop() { return *reactor_; }
  executor& ex() override { return *reactor_; }
  std::unique_ptr<rail> make_rail(node_id) override { return std::make_unique<tcp_rail>(*reactor_, options); }
  std::string address(node_id) const override { return host_ + ":0"; }
  void pass(nanoseconds d) override {
    wait([] { return false; }, d);
  }

  tcp_options options;

 private:
  bool wait(const std::function<bool()>& done, nanoseconds limit) override {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      reactor_->run_once(1ms);
    }
    return true;
  }

  std::string host_;
  std::unique_ptr<reactor> reactor_;
};

inline std::unique_ptr<world> any_world() {
  const int which = GENERATE(0, 1, 2);
  if (which == 0) return std::make_unique<memory_world>();
  return std::make_unique<tcp_world>(which == 1 ? "127.0.0.1" : "[::1]");
}

inline endpoint_options options_of(node_id node, std::uint64_t incarnation = 1) {
  endpoint_options o;
  o.self = node;
  o.cluster = "test";
  o.incarnation = incarnation;
  return o;
}

/// A task that runs beside the test.
class background final {
 public:
  background(executor& ex, task<> work) : root_(on_reactor::drive(std::move(work))), start_(root_.handle()) {
    ex.schedule(start_);
  }
  bool done() const { return root_.done(); }

 private:
  on_reactor::root root_;
  coroutine_node start_;
};

/// The head of every message of these tests; the payload is made of the number.
struct ask {
  std::uint64_t number = 0;
  std::uint32_t reply_bytes = 0;
  std::uint32_t parts = 1;
};
inline constexpr std::size_t ask_bytes = 16;

inline std::byte pattern(std::uint64_t number, std::size_t i) {
  return static_cast<std::byte>(number * 7 + i * 13 + (i >> 8));
}

inline bool fits(std::uint64_t number, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pattern(number, i)) return false;
  }
  return true;
}

inline message& compose(endpoint& e, const ask& a, std::size_t payload_bytes) {
  message& m = e.acquire_message();
  std::memcpy(m.head_space().data(), &a, sizeof a);
  m.set_head_bytes(sizeof a);
  static_assert(sizeof a == ask_bytes);
  std::array<std::byte, message::inline_payload_bytes> small;
  buffer_ref buffer;
  std::byte* at = small.data();
  if (payload_bytes > small.size()) {
    buffer = e.acquire_payload();
    REQUIRE(buffer);
    at = buffer.data();
  }
  for (std::size_t i = 0; i < payload_bytes; ++i) at[i] = pattern(a.number, i);
  const std::span<const std::byte> bytes(at, payload_bytes);
  if (buffer) {
    m.share_payload({buffer, bytes}, wire::checksum(bytes));
  } else {
    m.copy_payload(bytes, wire::checksum(bytes));
  }
  return m;
}

/// Works on requests as told, and notes what happens.
class service final : public endpoint_events {
 public:
  struct job {
    incoming work;
    ask a;
  };

  bool hold = false;
  error refuse_with;
  std::map<std::uint64_t, int> seen;
  std::vector<std::uint64_t> order;
  std::vector<traffic_class> classes;
  std::vector<std::unique_ptr<job>> held;
  std::vector<std::unique_ptr<job>> spare;
  std::vector<error> losses;
  int cancelled = 0;  // aborted or not
  int aborted = 0;
  int damaged = 0;
  bool drop_cancelled = true;
  bool quick = false;  // without the books above
  endpoint* owner = nullptr;
  std::function<void(session&, const error&)> lost;

  void answer(std::size_t i) {
    auto j = std::move(held[i]);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
    reply(*j);
    spare.push_back(std::move(j));
  }
  void answer_all() {
    while (!held.empty()) answer(0);
  }
  void drop_all() {
    for (auto& j : held) j->work.drop();
    held.clear();
  }

  void on_request(request_view& r) noexcept override {
    ask a;
    if (r.head().size() != ask_bytes) return;
    std::memcpy(&a, r.head().data(), sizeof a);
    damaged += !fits(a.number, r.payload().bytes);
    if (!quick) {
      ++seen[a.number];
      order.push_back(a.number);
      classes.push_back(r.klass());
    }
    if (refuse_with) return r.refuse(refuse_with);
    auto j = spare.empty() ? std::make_unique<job>() : std::move(spare.back());
    if (!spare.empty()) spare.pop_back();
    j->a = a;
    r.accept(j->work);
    if (hold) {
      held.push_back(std::move(j));
      return;
    }
    reply(*j);
    spare.push_back(std::move(j));
  }
  void on_cancelled(incoming& work, bool answer_awaited) noexcept override {
    ++cancelled;
    aborted += answer_awaited;
    if (!drop_cancelled) return;
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (&held[i]->work != &work) continue;
      if (answer_awaited) return answer(i);
      work.drop();
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
  }
  void on_session_lost(session& peer, const error& reason) noexcept override {
    losses.push_back(reason);
    if (lost) lost(peer, reason);
  }

 private:
  void reply(job& j) {
    for (std::uint32_t part = 1; part < j.a.parts; ++part)
      j.work.reply_part(compose(*owner, j.a, j.a.reply_bytes));
    j.work.reply(compose(*owner, j.a, j.a.reply_bytes));
  }
};

/// A node: rail, endpoint, service.
class node final {
 public:
  node(world& w, const endpoint_options& o, const std::string& at = {})
      : world_(w),
        id(o.self),
        rail_(w.make_rail(o.self)),
        ep(std::make_unique<endpoint>(w.ex(), *rail_, o, in)) {
    in.owner = ep.get();
    const auto listening = ep->listen(at.empty() ? w.address(id) : at);
    if (!listening) FAIL(describe(listening.error()));
  }
  ~node() { stop(); }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  /// Without a goodbye.
  void stop() {
    if (!rail_) return;
    ep.reset();
    const bool closed = world_.until([this] { return rail_->open() == 0; });
    CHECK(closed);
    rail_.reset();
  }
  /// Requests of class bulk come to the service of these tests, instead of being gets and puts.
  void take_bulk() { ep->route(traffic_class::bulk, in); }
  void knows(node& other) { REQUIRE(ep->add_peer(other.id, other.ep->listen_address()).has_value()); }
  session& to(node_id other) { return *ep->find(other); }
  rail& transport() { return *rail_; }

 private:
  world& world_;

 public:
  node_id id;
  service in;

 private:
  std::unique_ptr<rail> rail_;

 public:
  std::unique_ptr<endpoint> ep;
};

inline void introduce(node& a, node& b) {
  a.knows(b);
  b.knows(a);
}

/// One request and what came back.
class call final : public exchange {
 public:
  call() noexcept : exchange(&heard) {}
  ~call() {
    if (pending()) cancel();
  }

  status start(node& from, node_id to, std::uint64_t which, std::size_t payload_bytes = 8,
               traffic_class klass = traffic_class::call, std::uint32_t reply_bytes = 8,
               std::uint32_t parts_wanted = 1) {
    number = which;
    want_bytes = reply_bytes;
    ends = 0;
    message& m = compose(*from.ep, {number, reply_bytes, parts_wanted}, payload_bytes);
    return from.to(to).request(*this, klass, m, capacity);
  }

  std::uint64_t number = 0;
  std::uint32_t want_bytes = 0;
  std::uint32_t capacity = max_payload_bytes;
  int ends = 0;
  int parts = 0;
  bool reached = false;
  bool refused = false;
  bool intact = true;
  error outcome;
  std::function<void(call&)> then;

  bool answered() const { return ends == 1 && !outcome && intact; }

 private:
  static void heard(exchange& e, reply_event& event) noexcept {
    auto& self = static_cast<call&>(e);
    if (event.outcome) {
      self.outcome = {};
      self.take(event);
    } else {
      self.outcome = event.outcome.error();
    }
    self.reached = event.reached;
    self.refused = event.refused;
    if (!event.final) {
      ++self.parts;
      return;
    }
    ++self.ends;
    const auto then = self.then;  // the call may be freed, or used again
    if (then) then(self);
  }
  void take(reply_event& event) {
    ask a;
    intact = intact && event.head.size() == sizeof a;
    if (!intact) return;
    std::memcpy(&a, event.head.data(), sizeof a);
    intact =
        a.number == number && event.payload.bytes.size() == want_bytes && fits(number, event.payload.bytes);
  }
};

/// A frame as bytes; `alter` may change the header first.
inline std::vector<std::byte> frame_of(frame_header h, std::span<const std::byte> head = {},
                                       std::span<const std::byte> payload = {}) {
  std::vector<std::byte> bytes(frame_header_bytes + head.size() + payload.size());
  h.head_bytes = static_cast<std::uint16_t>(head.size());
  h.payload_bytes = static_cast<std::uint32_t>(payload.size());
  h.payload_checksum = wire::checksum(payload);
  std::copy(head.begin(), head.end(), bytes.begin() + frame_header_bytes);
  std::copy(payload.begin(), payload.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(frame_header_bytes + head.size()));
  encode_frame_header(bytes, h);
  return bytes;
}

inline std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The end of a link that says whatever a test likes.
class stranger final : public connect_events, public link_events, public accept_events {
 public:
  explicit stranger(world& w, node_id as) : world_(w), self(as), rail_(w.make_rail(as)) {}
  ~stranger() {
    if (link_ != nullptr) hang_up();
    rail_->stop_listening();
    const bool all_gone = world_.until([this] { return rail_->open() == 0; });
    CHECK(all_gone);
  }
  stranger(const stranger&) = delete;
  stranger& operator=(const stranger&) = delete;

  struct heard {
    frame_header header;
    std::vector<std::byte> head;
    std::vector<std::byte> payload;
  };
  std::vector<heard> frames;
  bool closed = false;
  error close_reason;

  void connect(const std::string& address) {
    closed = false;
    frames.clear();
    rail_->connect(address, *this);
    REQUIRE(world_.until([this] { return link_ != nullptr; }));
  }
  void listen(const std::string& address) { REQUIRE(rail_->listen(address, *this).has_value()); }
  std::string listen_address() const { return rail_->listen_address(); }
  bool linked() const { return link_ != nullptr; }
  std::string local_name() const { return link_->peer_name(); }

  void say(std::span<const std::byte> bytes) {
    while (!bytes.empty() && !closed) {
      REQUIRE(world_.until([this] { return closed || link_->writable(); }));
      if (closed) return;
      const auto some = bytes.first(std::min(bytes.size(), link_->batch_bytes()));
      const frame_parts parts{some, {}};
      link_->write({&parts, 1});
      bytes = bytes.subspan(some.size());
    }
  }
  bool hears(frame_type type) {
    return world_.until([&] { return closed || (!frames.empty() && frames.back().header.type == type); }) &&
           !frames.empty() && frames.back().header.type == type;
  }
  bool is_dropped() {
    return world_.until([this] { return closed; });
  }
  void hang_up() {
    link_->set_owner(nullptr);
    std::exchange(link_, nullptr)->close();
  }

  hello greeting(node_id target, std::uint64_t target_incarnation = 0) {
    hello h;
    h.node = self;
    h.target = target;
    h.incarnation = 1;
    h.epoch = 1;
    h.known_incarnation = target_incarnation;
    h.attempt = ++attempts;
    h.window = {8, 8, 8, 8};
    h.cluster = "test";
    return h;
  }
  static std::vector<std::byte> encoded(const hello& h, frame_type type = frame_type::hello) {
    std::array<std::byte, 512> payload;
    const auto size = wire::encode_to(payload, h);
    REQUIRE(size.has_value());
    frame_header header;
    header.type = type;
    header.granted = {8, 8, 8, 8};
    return frame_of(header, {}, std::span(payload).first(*size));
  }
  refusal refused() {
    REQUIRE(hears(frame_type::refuse));
    const auto r = wire::decode_from<refusal>(frames.back().payload);
    REQUIRE(r.has_value());
    return *r;
  }
  /// A sequenced frame of class call with an envelope and, in a request, the head of these tests.
  std::vector<std::byte> message_of(frame_type type, std::uint64_t exchange_id, const ask& a = {},
                                    const std::function<void(frame_header&)>& alter = {}) {
    std::array<std::byte, message::envelope_bytes + sizeof(ask)> head{};
    std::memcpy(head.data(), &exchange_id, 8);
    const std::uint32_t middle =
        type == frame_type::request ? max_payload_bytes : 0x10000;  // reply: ok, final
    std::memcpy(head.data() + 8, &middle, 4);
    std::memcpy(head.data() + message::envelope_bytes, &a, sizeof a);
    frame_header h;
    h.type = type;
    h.klass = traffic_class::call;
    h.sequence = ++sequence;
    h.acknowledged = acknowledged;
    h.granted = {8, 8, 8, 8};
    if (alter) alter(h);
    return frame_of(h, head);
  }

  std::uint64_t attempts = 0;
  std::uint64_t sequence = 0;
  std::uint64_t acknowledged = 0;

 private:
  void on_connected(transport::link& l) noexcept override {
    link_ = &l;
    l.set_owner(this);
  }
  void on_connect_failed(const error& reason) noexcept override {
    closed = true;
    close_reason = reason;
  }
  void on_accepted(transport::link& l) noexcept override {
    if (link_ != nullptr) return l.close();
    on_connected(l);
  }
  void on_frame(frame_view& f) noexcept override {
    frames.push_back(
        {f.header, {f.head.begin(), f.head.end()}, {f.payload.bytes.begin(), f.payload.bytes.end()}});
  }
  void on_writable() noexcept override {}
  void on_closed(const error& reason) noexcept override {
    link_ = nullptr;
    closed = true;
    close_reason = reason;
  }

  world& world_;

 public:
  node_id self;

 private:
  std::unique_ptr<rail> rail_;
  transport::link* link_ = nullptr;
};

/// Nodes 1 and 2, which know each other.
struct linked_nodes {
  explicit linked_nodes(world& on, const std::function<void(endpoint_options&)>& tune = {}) : w(on) {
    endpoint_options a = options_of(1);
    endpoint_options b = options_of(2);
    if (tune) {
      tune(a);
      tune(b);
    }
    left = std::make_unique<node>(w, a);
    right = std::make_unique<node>(w, b);
    introduce(*left, *right);
  }

  world& w;
  std::unique_ptr<node> left;
  std::unique_ptr<node> right;
};

}  // namespace network
