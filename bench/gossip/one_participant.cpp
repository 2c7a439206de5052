#include <sys/socket.h>

#include <deque>
#include <utility>
#include <vector>

#include "bench/kit/backend.hpp"
#include "bench/kit/clock.hpp"
#include "bench/kit/group_contestant.hpp"
#include "bench/kit/sockets.hpp"
#include "gossip.hpp"
#include "numbered_participants.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/io/reactor.hpp"

namespace bench::gossip {
namespace {

using namespace scoll;

/// The wire of one of two processes. What goes to a participant of the same process arrives without a system call. What goes
/// to the other process is a datagram, one at a time; who sends it to whom stands in shared memory. Every datagram is answered,
/// by an empty one if there is no answer.
class half_wire final : public wire, private transport::datagram_events {
 public:
  half_wire(member& me, transport::reactor& ring, std::uint32_t nodes)
      : me_(me), ring_(ring), port_(ring, options_of(numbered_participants::room_for(nodes))) {
    for (std::uint32_t i = 0; i < nodes; ++i) addresses_.push_back(port_.parse(address_text(i)).value());
    port_.bind("127.0.0.1:0", *this).value();
    const std::string bound = port_.bound_address();
    me.publish(static_cast<std::uint16_t>(std::stoul(bound.substr(bound.rfind(':') + 1))));
    other_ = port_.parse(fmt::format("127.0.0.1:{}", me.port(1 - me.index()))).value();
  }
  ~half_wire() = default;

  transport::udp_port& socket() noexcept override { return port_; }
  void join(std::size_t number, transport::datagram_events* events) override {
    if (inboxes_.size() <= number) inboxes_.resize(number + 1);
    inboxes_[number] = events;
  }
  status send(std::size_t from, std::size_t to, std::span<const std::byte> bytes) noexcept override {
    if (is_here(to)) {
      local_.push_back({from, to, {bytes.begin(), bytes.end()}});
      return {};
    }
    me_.page().reactors[0].port = static_cast<std::uint32_t>(from << 16 | to);
    answered_ = true;
    awaits_ = true;
    return port_.send(other_, bytes);
  }

  /// Tells the other process that it is its turn, or that there is no answer.
  void send_empty() { port_.send(other_, {}).value(); }
  /// Delivers what goes to participants of this process, and waits for what the other one owes.
  template <class Run>
  void settle(Run&& run) {
    do {
      while (!local_.empty()) deliver_local();
      while (awaits_) ring_.run_once(std::chrono::seconds(1));
      run();
    } while (!local_.empty() || awaits_);
  }
  /// Waits until the other process has given the turn, and answers its participants meanwhile.
  template <class Run>
  void await_turn(Run&& run) {
    for (has_turn_ = false; !has_turn_;) {
      ring_.run_once(std::chrono::seconds(1));
      run();
    }
  }

 private:
  struct message {
    std::size_t from, to;
    std::vector<std::byte> bytes;
  };

  static transport::udp_options options_of(std::size_t most_bytes) {
    transport::udp_options options;
    options.max_bytes = most_bytes;
    return options;
  }
  /// The first process has the first participant, the second one all others.
  bool is_here(std::size_t number) const noexcept { return (number == 0) == (me_.index() == 0); }

  void deliver_local() {
    const message m = std::move(local_.front());
    local_.pop_front();
    give(m.from, m.to, {{}, m.bytes});
  }
  void give(std::size_t from, std::size_t to, const transport::buffer_view& bytes) noexcept {
    if (to < inboxes_.size() && inboxes_[to] != nullptr) inboxes_[to]->on_datagram(addresses_[from], bytes);
  }

  void on_datagram(const transport::datagram_address&,
                   const transport::buffer_view& bytes) noexcept override {
    if (bytes.bytes.empty()) {
      if (!std::exchange(awaits_, false)) has_turn_ = true;
      return;
    }
    const std::uint32_t passage = me_.page(1 - me_.index()).reactors[0].port;
    if (std::exchange(awaits_, false)) {  // an answer, to which nobody replies
      give(passage >> 16, passage & 0xffffU, bytes);
      return;
    }
    answered_ = false;
    give(passage >> 16, passage & 0xffffU, bytes);
    awaits_ = false;
    if (!answered_) send_empty();
  }

  member& me_;
  transport::reactor& ring_;
  transport::udp_port port_;
  transport::datagram_address other_;
  std::vector<transport::datagram_address> addresses_;  // of all participants
  std::vector<transport::datagram_events*> inboxes_;
  std::deque<message> local_;
  bool awaits_ = false;
  bool answered_ = false;
  bool has_turn_ = false;
};

/// One of the two processes. They take turns: in each, the time of one process goes on by an interval.
class half {
 public:
  half(member& me, std::uint32_t nodes)
      : me_(me), ring_(make_reactor()), wire_(me, *ring_, nodes), mine_(nodes, wire_) {
    if (me.index() == 0) {
      mine_.start(0);
    } else {
      for (std::uint32_t i = 1; i < nodes; ++i) mine_.start(i);
    }
    me.ready();
  }

  /// An interval of the first process: its own cycle, and the answers to those who ping it in theirs.
  void one_cycle() {
    const std::size_t before = allocation_counter::on_this_thread();
    pass();
    wire_.send_empty();
    wire_.await_turn([this] { mine_.time().run_now(); });
    me_.page().allocations += allocation_counter::on_this_thread() - before;
  }
  [[noreturn]] void be_all_others() {
    while (true) {
      wire_.await_turn([this] { mine_.time().run_now(); });
      pass();
      wire_.send_empty();
    }
  }

 private:
  void pass() {
    mine_.pass(1, [this] {
      const bool done = false;
      mine_.time().run_step(done);
      wire_.settle([this] { mine_.time().run_now(); });
    });
  }

  member& me_;
  std::unique_ptr<transport::reactor> ring_;
  half_wire wire_;
  numbered_participants mine_;
};

void play_participants(member& me, std::uint32_t nodes) {
  me.stay_on_own_processor();
  // The objects are not destroyed: the process ends without an orderly shutdown.
  half& it = *new half(me, nodes);
  if (me.index() != 0) it.be_all_others();
  me.serve([&] { it.one_cycle(); });
}

/// The datagrams of a cycle between two sockets, and nothing else.
class bare {
 public:
  bare(member& me, const exchange_sizes& sizes, std::uint32_t nodes)
      : sizes_(sizes), others_ns_(std::int64_t{nodes} * 4'000), bytes_(std::size_t{1} << 16U) {
    socket_ = transport::open_datagram(transport::socket_address::parse("127.0.0.1:0").value()).value();
    me.publish(transport::local_address(socket_.get()).value().port());
    const auto other =
        transport::socket_address::parse(fmt::format("127.0.0.1:{}", me.port(1 - me.index()))).value();
    if (::connect(socket_.get(), other.data(), other.size()) != 0) fail("connect");
    me.ready();
  }

  void one_cycle() {
    send(sizes_.ping);
    receive();
    send(0);
    receive();
    send(sizes_.reply);
    receive();
  }
  [[noreturn]] void be_all_others() {
    while (true) {
      receive();
      send(sizes_.reply);
      receive();
      for (const std::int64_t end = now_ns() + others_ns_; now_ns() < end;) {
      }  // as long as they would compute
      send(sizes_.ping);
      receive();
      send(0);
    }
  }

 private:
  void send(std::size_t size) {
    if (::send(socket_.get(), bytes_.data(), size, 0) < 0) fail("send");
  }
  void receive() {
    if (::recv(socket_.get(), bytes_.data(), bytes_.size(), 0) < 0) fail("recv");
  }

  exchange_sizes sizes_;
  std::int64_t others_ns_;
  std::vector<std::byte> bytes_;
  unique_fd socket_;
};

void play_bare(member& me, const exchange_sizes& sizes, std::uint32_t nodes) {
  me.stay_on_own_processor();
  bare it(me, sizes, nodes);
  if (me.index() != 0) it.be_all_others();
  me.serve([&] { it.one_cycle(); });
}

/// Two processes of which the first one counts.
class first_of_two final : public contestant {
 public:
  first_of_two(const std::string& name, const std::function<void(member&)>& body) : group_(name, 2, body) {}

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    group_.run(operations, latency_us);
  }
  std::vector<usage> used() const override { return {group_.used().front()}; }

 private:
  group_contestant group_;
};

}  // namespace

std::unique_ptr<contestant> make_one_participant(std::uint32_t nodes) {
  return std::make_unique<first_of_two>("scoll", [nodes](member& me) { play_participants(me, nodes); });
}

std::unique_ptr<contestant> make_bare_participant(const exchange_sizes& sizes, std::uint32_t nodes) {
  return std::make_unique<first_of_two>("raw-udp",
                                        [sizes, nodes](member& me) { play_bare(me, sizes, nodes); });
}

}  // namespace bench::gossip
