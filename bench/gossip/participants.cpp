#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bench/kit/backend.hpp"
#include "bench/kit/clock.hpp"
#include "gossip.hpp"
#include "gossip/message.hpp"
#include "numbered_participants.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/io/reactor.hpp"

namespace bench::gossip {
namespace {

using namespace scoll;

/// One pair of UDP sockets for all participants, with the sender and receiver of each datagram. Each datagram
/// really leaves through one socket and arrives at the other. A ring with a thousand ports would distort the
/// measurement.
class shared_wire final : public wire, private transport::datagram_events {
 public:
  shared_wire(transport::reactor& ring, std::size_t most_bytes)
      : out_(ring, options_of(most_bytes)), in_(ring, options_of(most_bytes)), under_way_(1024) {
    out_.bind("127.0.0.1:0", *this).value();
    in_.bind("127.0.0.1:0", *this).value();
    there_ = out_.parse(in_.bound_address()).value();
  }
  ~shared_wire() = default;

  transport::udp_port& socket() noexcept override { return out_; }
  void join(std::size_t number, transport::datagram_events* events) override {
    if (inboxes_.size() <= number) inboxes_.resize(number + 1);
    inboxes_[number] = {out_.parse(address_text(number)).value(), events};
  }
  status send(std::size_t from, std::size_t to, std::span<const std::byte> bytes) noexcept override {
    if (sizing_) measure(bytes);
    const status sent = out_.send(there_, bytes);
    if (sent) under_way_[sent_++ % under_way_.size()] = {from, to};
    return sent;
  }
  bool busy() const noexcept { return arrived_ != sent_; }
  void close() noexcept {
    out_.close();
    in_.close();
  }
  bool open() const noexcept { return out_.open() || in_.open(); }

  void size_messages(bool on) noexcept { sizing_ = on; }
  exchange_sizes sizes() const noexcept { return {mean(0), mean(1)}; }

 private:
  struct inbox {
    transport::datagram_address address;
    transport::datagram_events* events = nullptr;
  };
  struct passage {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  static transport::udp_options options_of(std::size_t most_bytes) {
    transport::udp_options options;
    options.max_bytes = most_bytes;
    return options;
  }

  void on_datagram(const transport::datagram_address&,
                   const transport::buffer_view& bytes) noexcept override {
    const passage p = under_way_[arrived_++ % under_way_.size()];
    if (inboxes_[p.to].events != nullptr) inboxes_[p.to].events->on_datagram(inboxes_[p.from].address, bytes);
  }
  void measure(std::span<const std::byte> bytes) noexcept {
    const auto head = scoll::gossip::decode_head(bytes);
    if (!head) return;
    const std::size_t kind = head->kind == scoll::gossip::message_kind::ping ? 0 : 1;
    ++messages_[kind];
    bytes_[kind] += bytes.size();
  }
  std::size_t mean(int kind) const noexcept {
    return bytes_[kind] / std::max<std::size_t>(1, messages_[kind]);
  }

  transport::udp_port out_;
  transport::udp_port in_;
  transport::datagram_address there_;
  std::vector<inbox> inboxes_;
  std::vector<passage> under_way_;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  bool sizing_ = false;
  std::size_t messages_[2] = {};
  std::size_t bytes_[2] = {};  // for pings and for replies
};

class all_participants final : public cycle_contestant {
 public:
  explicit all_participants(std::uint32_t nodes)
      : meter_(getpid()), wire_(*ring_, numbered_participants::room_for(nodes)), all_(nodes, wire_) {
    constexpr std::uint32_t until_calm = 40;
    for (std::uint32_t i = 0; i != nodes; ++i) all_.start(i);
    pass(until_calm);
    wire_.size_messages(true);
    pass(2);
    wire_.size_messages(false);
  }
  ~all_participants() override {
    all_.request_stop();
    while (!all_.have_stopped()) turn();
    wire_.close();
    while (wire_.open()) ring_->run_once(std::chrono::milliseconds(1));
  }

  exchange_sizes sizes() const override { return wire_.sizes(); }

  /// The number of operations covers whole intervals, in each of which every participant has one cycle.
  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    const std::uint32_t nodes = all_.nodes();
    for (std::uint32_t done = 0; done < operations; done += nodes) {
      const std::size_t before = allocation_counter::on_this_thread();
      const std::int64_t began = now_ns();
      pass(1);
      const std::int64_t ended = now_ns();
      allocations_ += allocation_counter::on_this_thread() - before;
      latency_us.push_back(static_cast<double>(ended - began) / 1e3 / nodes);
    }
  }
  std::vector<usage> used() const override {
    usage u = meter_.read();
    u.allocations = static_cast<double>(allocations_);
    return {u};
  }

 private:
  /// Runs the next participant in time and everything that follows from it: no other moves before its
  /// exchange is over.
  void turn() {
    const bool done = false;
    all_.time().run_step(done);
    while (wire_.busy()) ring_->run_once(std::chrono::seconds(1));
    all_.time().run_now();
  }
  void pass(std::uint32_t intervals) {
    all_.pass(intervals, [this] { turn(); });
  }

  process_meter meter_;
  std::unique_ptr<transport::reactor> ring_ = make_reactor();
  shared_wire wire_;
  numbered_participants all_;
  std::size_t allocations_ = 0;
};

}  // namespace

std::unique_ptr<cycle_contestant> make_cycles(std::uint32_t nodes) {
  return std::make_unique<all_participants>(nodes);
}

}  // namespace bench::gossip
