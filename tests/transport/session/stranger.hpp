#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/transport/session/messages.hpp"
#include "transport/session/greeting.hpp"
#include "transport/wire/wire.hpp"

namespace network {

/// The end of a link that sends whatever a test chooses.
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

  identity greeting(node_id target, std::uint64_t target_incarnation = 0) {
    identity h;
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
  template <class T>
  static std::vector<std::byte> encoded_as(frame_type type, const T& said) {
    std::array<std::byte, 2048> payload;
    const auto size = wire::encode_to(payload, said);
    REQUIRE(size.has_value());
    frame_header header;
    header.type = type;
    header.granted = {8, 8, 8, 8};
    return frame_of(header, {}, std::span(payload).first(*size));
  }
  static std::vector<std::byte> hello_of(const identity& h) {
    hello opening;
    opening.lane = h.lane;
    opening.version = h.version;
    return encoded_as(frame_type::hello, opening);
  }
  /// An identity follows its hello; a welcome stands alone.
  static std::vector<std::byte> encoded(const identity& h, frame_type type = frame_type::identity) {
    std::vector<std::byte> bytes;
    if (type == frame_type::identity) bytes = hello_of(h);
    const auto said = encoded_as(type, h);
    bytes.insert(bytes.end(), said.begin(), said.end());
    return bytes;
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

}  // namespace network
