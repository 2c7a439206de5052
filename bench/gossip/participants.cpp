#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/kit/backend.hpp"
#include "bench/kit/clock.hpp"
#include "gossip.hpp"
#include "gossip/message.hpp"
#include "gossip/participant.hpp"
#include "scoll/coro/scope.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/udp_port.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace bench::gossip {
namespace {

using namespace scoll;
using scoll::gossip::configuration;
using scoll::gossip::configuration_ptr;
using scoll::gossip::participant;
using scoll::testing::virtual_executor;

constexpr std::size_t first_port = 10'000;
constexpr nanoseconds interval = std::chrono::milliseconds(200);

/// One pair of UDP sockets for all participants, with the sender and receiver of each datagram. Each datagram
/// really leaves through one socket and arrives at the other. A ring with a thousand ports would distort the
/// measurement.
class shared_wire final : private transport::datagram_events {
 public:
  shared_wire(transport::reactor& ring, std::size_t most_bytes)
      : out_(ring, options_of(most_bytes)), in_(ring, options_of(most_bytes)), under_way_(1024) {
    out_.bind("127.0.0.1:0", *this).value();
    in_.bind("127.0.0.1:0", *this).value();
    there_ = out_.parse(in_.bound_address()).value();
  }
  ~shared_wire() = default;

  transport::udp_port& out() noexcept { return out_; }
  void join(const transport::datagram_address& address, transport::datagram_events* events) {
    const std::size_t place = place_of(address);
    if (inboxes_.size() <= place) inboxes_.resize(place + 1);
    inboxes_[place] = events;
  }

  status send(const transport::datagram_address& from, const transport::datagram_address& to,
              std::span<const std::byte> bytes) noexcept {
    if (sizing_) measure(bytes);
    const status sent = out_.send(there_, bytes);
    if (sent) under_way_[sent_++ % under_way_.size()] = {from, place_of(to)};
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
  struct passage {
    transport::datagram_address from;
    std::size_t to = 0;
  };
  /// The addresses differ only in their ports.
  static std::size_t place_of(const transport::datagram_address& address) noexcept {
    const auto bytes = address.bytes().subspan(offsetof(sockaddr_in, sin_port));
    return (std::to_integer<std::size_t>(bytes[0]) << 8 | std::to_integer<std::size_t>(bytes[1])) -
           first_port;
  }
  static transport::udp_options options_of(std::size_t most_bytes) {
    transport::udp_options options;
    options.max_bytes = most_bytes;
    return options;
  }

  void on_datagram(const transport::datagram_address&,
                   const transport::buffer_view& bytes) noexcept override {
    const passage p = under_way_[arrived_++ % under_way_.size()];
    if (inboxes_[p.to] != nullptr) inboxes_[p.to]->on_datagram(p.from, bytes);
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
  std::vector<transport::datagram_events*> inboxes_;
  std::vector<passage> under_way_;
  std::uint64_t sent_ = 0;
  std::uint64_t arrived_ = 0;
  bool sizing_ = false;
  std::size_t messages_[2] = {};
  std::size_t bytes_[2] = {};  // for pings and for replies
};

/// The port of one participant on the shared wire.
class wire_port final : public transport::datagram_port {
 public:
  explicit wire_port(shared_wire& of) : wire_(of) {}

  status bind(const std::string& address, transport::datagram_events& events) noexcept override {
    name_ = address;
    address_ = parse(address).value();
    wire_.join(address_, &events);
    return {};
  }
  std::string bound_address() const override { return name_; }
  result<transport::datagram_address> parse(std::string_view text) const override {
    return wire_.out().parse(text);
  }
  std::string print(const transport::datagram_address& address) const override {
    return wire_.out().print(address);
  }
  std::size_t max_datagram_bytes() const noexcept override { return wire_.out().max_datagram_bytes(); }
  status send(const transport::datagram_address& to, std::span<const std::byte> bytes) noexcept override {
    return wire_.send(address_, to, bytes);
  }
  void close() noexcept override {
    wire_.join(address_, nullptr);
    name_.clear();
  }
  bool open() const noexcept override { return !name_.empty(); }
  transport::datagram_statistics statistics() const noexcept override { return {}; }

 private:
  shared_wire& wire_;
  std::string name_;
  transport::datagram_address address_;
};

class all_participants final : public cycle_contestant {
 public:
  explicit all_participants(std::uint32_t nodes)
      : shared_(of_so_many(nodes)), meter_(getpid()), wire_(*ring_, room_for(nodes)) {
    constexpr std::uint32_t until_calm = 40;
    for (std::uint32_t i = 0; i != nodes; ++i) start(i);
    pass(until_calm);
    wire_.size_messages(true);
    pass(2);
    wire_.size_messages(false);
  }
  ~all_participants() override {
    work_.request_stop();
    while (!work_.try_join()) turn();
    wire_.close();
    while (wire_.open()) ring_->run_once(std::chrono::milliseconds(1));
  }

  exchange_sizes sizes() const override { return wire_.sizes(); }

  /// The number of operations covers whole intervals, in each of which every participant has one cycle.
  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    const std::uint32_t nodes = shared_->size();
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
  static configuration_ptr of_so_many(std::uint32_t nodes) {
    std::vector<std::string> addresses;
    while (addresses.size() != nodes)
      addresses.push_back(fmt::format("127.0.0.1:{}", first_port + addresses.size()));
    return configuration::make(std::move(addresses), interval).value();
  }
  static std::size_t room_for(std::uint32_t nodes) {
    return std::min<std::size_t>(transport::datagram_bytes_limit, 2048 + std::size_t{2} * nodes);
  }

  void start(std::uint32_t i) {
    scoll::gossip::options chosen;
    chosen.incarnation = 1;
    chosen.seed = i + 1;
    chosen.stealth = false;
    ports_.emplace_back(wire_);
    members_.emplace_back(time_, ports_.back(), shared_, shared_->address(i), chosen);
    work_.spawn(take_part(members_.back()));
  }
  task<void> take_part(participant& p) {
    const auto ended = co_await scoll::gossip::run(p, work_.token());
    if (!ended) throw std::runtime_error("a participant ended: " + std::string(ended.error().text()));
  }

  /// Runs the next participant in time and everything that follows from it: no other moves before its
  /// exchange is over.
  void turn() {
    const bool done = false;
    time_.run_step(done);
    while (wire_.busy()) ring_->run_once(std::chrono::seconds(1));
    time_.run_now();
  }
  void pass(std::uint32_t intervals) {
    const time_point end = time_.now() + intervals * interval;
    while (time_.now() < end) turn();
  }

  configuration_ptr shared_;
  process_meter meter_;
  std::unique_ptr<transport::reactor> ring_ = make_reactor();
  virtual_executor time_;
  shared_wire wire_;
  std::deque<wire_port> ports_;
  std::deque<participant> members_;
  scope work_{time_};
  std::size_t allocations_ = 0;
};

}  // namespace

std::unique_ptr<cycle_contestant> make_cycles(std::uint32_t nodes) {
  return std::make_unique<all_participants>(nodes);
}

}  // namespace bench::gossip
