#pragma once

/// The fuzzer and the replay of its corpus run this code. An endpoint either serves the bytes that arrive on
/// a link, in pieces of any size, or drops the link; it leaves nothing behind. The first byte of an input
/// chooses its use, the second how it is cut:
///
///   0  a byte stream into a frame assembler
///   1  a byte stream into an endpoint that has accepted a connection
///   2  the same after a valid greeting
///   3  records that become frames with valid checksums, after a valid greeting
///   4  records, from the first byte on
///   5  records, into an endpoint that has connected by itself
///   6  records, after a valid greeting of the bulk lane: gets and puts of memory
///   7  records, into an endpoint that has connected the bulk lane by itself, to get memory

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "transport/memory/memory_region.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/wire/wire.hpp"

namespace fuzz {

using namespace scoll::testing;
using namespace scoll::transport;
namespace wire = scoll::wire;
using bytes = std::span<const std::uint8_t>;

inline void demand(bool condition) {
  if (!condition) std::abort();
}

/// A record is type, class, sequence step, acknowledgement, grant, sizes of head and payload, head, payload.
inline constexpr std::size_t record_bytes = 7;

inline std::vector<std::byte> frame_from(bytes& input, std::uint64_t& sequence) {
  const bytes fields = input.first(record_bytes);
  input = input.subspan(record_bytes);
  frame_header h;
  const auto type = fields[0] % 11;  // 9 is unknown, 10 stands for a notice
  h.type = type == 10 ? frame_type::notice : static_cast<frame_type>(type);
  h.klass = static_cast<traffic_class>(fields[1] % 5);
  sequence += fields[2] % 4 == 0 ? fields[2] / 4U : 1U;
  h.sequence = sequence;
  h.acknowledged = fields[3];
  h.granted = {fields[4], 64, 64, fields[4]};
  const std::size_t head = std::min<std::size_t>(fields[5], input.size());
  const std::size_t payload = std::min<std::size_t>(fields[6], input.size() - head);
  const auto body = std::as_bytes(input.first(head + payload));
  input = input.subspan(head + payload);
  std::vector<std::byte> frame(frame_header_bytes + body.size());
  std::copy(body.begin(), body.end(), frame.begin() + frame_header_bytes);
  h.head_bytes = static_cast<std::uint16_t>(head);
  h.payload_bytes = static_cast<std::uint32_t>(payload);
  h.payload_checksum = wire::checksum(body.subspan(head));
  encode_frame_header(frame, h);
  return frame;
}

template <class T>
std::vector<std::byte> control(frame_type type, const T& said) {
  std::vector<std::byte> frame(frame_header_bytes + 512);
  const auto size = wire::encode_to(std::span(frame).subspan(frame_header_bytes), said);
  demand(size.has_value());
  frame.resize(frame_header_bytes + *size);
  frame_header h;
  h.type = type;
  h.payload_bytes = static_cast<std::uint32_t>(*size);
  h.payload_checksum = wire::checksum(std::span<const std::byte>(frame).subspan(frame_header_bytes));
  encode_frame_header(frame, h);
  return frame;
}

inline std::vector<std::byte> opening(lane_id lane) {
  hello said;
  said.lane = static_cast<std::uint8_t>(lane);
  return control(frame_type::hello, said);
}

inline std::vector<std::byte> greeting(frame_type type, lane_id lane) {
  identity g;
  g.lane = static_cast<std::uint8_t>(lane);
  g.node = 7;
  g.target = 1;
  g.incarnation = g.epoch = g.attempt = 1;
  g.known_incarnation = g.known_epoch = type == frame_type::welcome ? 1 : 0;
  g.window = {8, 8, 8, 8};
  g.cluster = "fuzz";
  return control(type, g);
}

/// Answers some requests, keeps some and refuses some.
class service final : public endpoint_events {
 public:
  ~service() {
    for (auto& work : kept_) {
      if (work->open()) work->drop();
    }
  }
  void attach(endpoint& owner) { owner_ = &owner; }

 private:
  void on_request(request_view& request) noexcept override {
    switch (count_++ % 4) {
      case 0: return request.refuse({scoll::errc::busy, "not now"});
      case 1: return;
      case 2: kept_.push_back(std::make_unique<incoming>()); return request.accept(*kept_.back());
      default: break;
    }
    incoming work;
    request.accept(work);
    work.reply_part(owner_->acquire_message());
    message& last = owner_->acquire_message();
    const std::uint64_t checksum = wire::checksum(request.payload().bytes);
    last.share_payload(std::move(request.payload()), checksum);
    work.reply(last);
  }
  void on_cancelled(incoming& work, const cancel_reason&) noexcept override { work.drop(); }
  bool on_notice(session&, std::span<const std::byte> head) noexcept override {
    demand(head.size() <= max_notice_head_bytes - message::envelope_bytes);
    return count_++ % 2 == 0;
  }
  void on_session_lost(session&, const scoll::error& reason) noexcept override {
    demand(static_cast<bool>(reason));
  }

  endpoint* owner_ = nullptr;
  unsigned count_ = 0;
  std::vector<std::unique_ptr<incoming>> kept_;
};

/// A request of the endpoint itself; its replies come from the input.
class request final : public exchange {
 public:
  request() noexcept : exchange(&heard) {}
  ~request() { cancel(); }

 private:
  static void heard(exchange&, reply_event& event) noexcept {
    demand(event.final || static_cast<bool>(event.outcome));
  }
};

/// A notice of the endpoint itself, which hears how it ends.
class own_notice final : public emission {
 public:
  own_notice() noexcept : emission(&heard) {}
  ~own_notice() { demand(!pending()); }

 private:
  static void heard(emission&, notice_state state, const scoll::error& reason) noexcept {
    demand(static_cast<bool>(reason) == (state == notice_state::lost));
  }
};

inline constexpr std::uint32_t node_host = 0;
inline constexpr std::uint32_t peer_host = 1;

/// The peer whose messages come from the input.
class peer final : public connect_events, public accept_events, public link_events {
 public:
  peer(scoll::testing::virtual_executor& clock, sim_network& net)
      : clock_(clock), rail_(net, clock, peer_host) {}
  ~peer() {
    rail_.stop_listening();
    if (link_ == nullptr) return;
    link_->set_owner(nullptr);
    link_->close();
  }

  void connect() {
    rail_.connect(sim_network::address_of(node_host), *this);
    clock_.run_for(std::chrono::microseconds(20));
  }
  void listen() { demand(rail_.listen(rail_.listen_address(), *this).has_value()); }
  bool say(std::span<const std::byte> what) {
    for (; link_ != nullptr && !what.empty();
         what = what.subspan(std::min<std::size_t>(what.size(), 65536))) {
      const frame_parts parts{what.first(std::min<std::size_t>(what.size(), 65536)), {}};
      link_->write({&parts, 1});
      clock_.run_for(std::chrono::microseconds(20));
    }
    return link_ != nullptr;
  }

 private:
  void on_connected(scoll::transport::link& connected) noexcept override {
    link_ = &connected;
    link_->set_owner(this);
  }
  void on_connect_failed(const scoll::error&) noexcept override {}
  void on_accepted(scoll::transport::link& accepted) noexcept override {
    if (link_ != nullptr) return accepted.close();
    on_connected(accepted);
  }
  void on_frame(frame_view&) noexcept override {}
  void on_writable() noexcept override {}
  void on_closed(const scoll::error&) noexcept override { link_ = nullptr; }

  scoll::testing::virtual_executor& clock_;
  sim_rail rail_;
  scoll::transport::link* link_ = nullptr;
};

/// Memory with a part that may be read and written, and a rest that must not be touched.
class exposed {
 public:
  explicit exposed(endpoint& owner) {
    bytes_.fill(untouched);
    auto made = memory_region::expose(owner, std::span(bytes_).subspan(100, 100), memory_access::read_write);
    demand(made.has_value());
    region_ = std::move(*made);
  }
  ~exposed() {
    const auto fine = [](std::byte b) { return b == untouched; };
    demand(std::all_of(bytes_.begin(), bytes_.begin() + 100, fine));
    demand(std::all_of(bytes_.end() - 100, bytes_.end(), fine));
  }
  exposed(const exposed&) = delete;
  exposed& operator=(const exposed&) = delete;

 private:
  static constexpr std::byte untouched{0xa5};
  std::array<std::byte, 300> bytes_;
  memory_region region_;
};

/// A get or put of the endpoint itself; the answers come from the input.
class own_transfer {
 public:
  own_transfer(endpoint& owner, memory_order_kind operation)
      : queue_(owner.memory().transfers()), transfer_({operation, 0, 1, 1, 0, 0}, memory_) {
    queue_.start(transfer_, *owner.find(7), {});
  }
  ~own_transfer() {
    if (!transfer_.finished()) queue_.abandon(transfer_, {scoll::errc::cancelled, "the input is over"});
  }
  own_transfer(const own_transfer&) = delete;
  own_transfer& operator=(const own_transfer&) = delete;

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(3 * max_payload_bytes / 2);
  transfer_queue& queue_;
  transfer transfer_;
};

inline void assemble(bytes input, std::size_t piece) {
  buffer_pool buffers(256, 4);
  buffer_pool frames(max_frame_bytes, 4);
  frame_assembler assembler(frames);
  while (!input.empty()) {
    const buffer_ref buffer = buffers.try_acquire();
    const std::size_t size = std::min(piece, input.size());
    std::memcpy(buffer.data(), input.data(), size);
    const auto fed = assembler.feed(buffer, {buffer.data(), size}, [](frame_view& frame) {
      demand(frame.head.size() <= max_head_bytes && frame.payload.bytes.size() <= max_payload_bytes);
      demand(frame.fate != payload_disposition::lent || !frame.header.payload_checked ||
             wire::checksum(frame.payload.bytes) == frame.header.payload_checksum);
      return true;
    });
    if (!fed) return;
    input = input.subspan(size);
  }
}

inline void converse(bytes input, unsigned how, std::size_t piece) {
  scoll::testing::virtual_executor clock;
  sim_network net(clock.world(), piece, 2);
  net.common_path().model = sim_link_model::ideal(std::chrono::microseconds(10));
  service events;
  sim_rail rail(net, clock, node_host);
  request own[3];
  own_notice told;
  endpoint_options options;
  options.self = 1;
  options.cluster = "fuzz";
  options.incarnation = 1;
  {
    endpoint node(clock, rail, options, events);
    events.attach(node);
    demand(node.listen(rail.listen_address()).has_value());
    demand(node.add_peer(7, sim_network::address_of(peer_host)).has_value());
    const exposed memory(node);
    const bool connects = how == 5 || how == 7;
    const lane_id lane = how < 6 ? lane_id::control : lane_id::bulk;
    peer other(clock, net);
    if (connects) {
      other.listen();
    } else {
      other.connect();
      if (how != 1) other.say(opening(lane));
      if (how != 1 && how != 4) other.say(greeting(frame_type::identity, lane));
    }
    std::optional<own_transfer> got, sent;
    demand(node.find(7)->notify(node.acquire_message(), told).has_value());
    if (lane == lane_id::bulk) {
      got.emplace(node, memory_order_kind::get);
      sent.emplace(node, memory_order_kind::put);
    } else {
      for (auto& r : own) {
        demand(node.find(7)->request(r, traffic_class::call, node.acquire_message(), 64).has_value());
      }
    }
    clock.run_for(std::chrono::microseconds(50));
    if (connects && piece % 16 == 0) other.say(greeting(frame_type::welcome, lane));
    if (how < 3) {
      other.say(std::as_bytes(input));
    } else {
      std::uint64_t sequence = 0;
      while (input.size() >= record_bytes && other.say(frame_from(input, sequence))) continue;
    }
    clock.run_for(std::chrono::seconds(3));
    demand(node.find(7)->held_messages() < 1000);
  }
  clock.run_for(std::chrono::seconds(1));
  demand(rail.open() == 0);
}

inline void frame_input(bytes input) {
  if (input.size() < 2) return;
  const unsigned how = input[0] % 8;
  const std::size_t piece = 1 + std::size_t{input[1]};
  input = input.subspan(2);
  if (how == 0) return assemble(input, piece);
  converse(input, how, piece * 8);
}

}  // namespace fuzz
