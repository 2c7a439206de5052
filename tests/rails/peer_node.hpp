#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/event.hpp"
#include "tests/rails/numbers_seen.hpp"
#include "transport/io/reactor.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/tcp/tcp_rail.hpp"

/// A node with rails, for tests in network namespaces: what it serves, and what it counts.
namespace scoll::rail_test {

/// One rail of the command line: "10.0.0.1:7001", "10.0.0.1:7001/24", "[fd00::1]:7001/64%eth1".
struct rail_place {
  std::string address;
  std::uint8_t prefix = 0;
  std::string device;

  /// Reads the form above. The result is empty if the prefix is no number from 0 to 128.
  static std::optional<rail_place> parse(std::string text);
  /// The address with port 0, to connect from.
  std::string source() const;
};

struct node_settings {
  transport::node_id self = 0;
  std::vector<rail_place> rails;
  nanoseconds prove = std::chrono::seconds(1);
  std::uint32_t segment_bytes = 262144;
};

/// The head of every request and of its reply.
struct ask {
  enum class kind : std::uint64_t {
    echo,      ///< the reply has the payload of the request
    describe,  ///< the payload of the reply is the descriptor of the region
  };
  std::uint64_t number = 0;
  kind what = kind::echo;
};

/// A node whose region holds bytes that follow from its id. It echoes requests and counts each number, so
/// that a request that is executed twice is found out. Thread: its reactor's.
class peer_node final : public transport::endpoint_events {
 public:
  static constexpr std::size_t region_bytes = std::size_t{64} << 20;

  /// `lost` hears of every session that is lost.
  using on_lost = std::function<void(transport::node_id peer, const error& reason)>;

  peer_node(transport::reactor& loop, const node_settings& settings, on_lost lost);
  ~peer_node() = default;
  peer_node(const peer_node&) = delete;
  peer_node& operator=(const peer_node&) = delete;

  /// Opens all rails and exposes the region.
  status start();
  transport::endpoint& wire() noexcept { return *endpoint_; }

  std::uint64_t served() const noexcept { return numbers_.count(); }
  std::uint64_t twice() const noexcept { return twice_; }
  std::uint64_t damaged() const noexcept { return damaged_; }

 private:
  void on_request(transport::request_view& request) noexcept override;
  void on_cancelled(transport::incoming& work, const transport::cancel_reason&) noexcept override {
    work.drop();
  }
  void on_session_lost(transport::session& peer, const error& reason) noexcept override {
    lost_(peer.peer(), reason);
  }

  on_lost lost_;
  std::vector<std::unique_ptr<transport::tcp_rail>> rails_;
  transport::rail_set set_;
  std::unique_ptr<transport::endpoint> endpoint_;
  std::vector<std::byte> memory_;
  transport::memory_region region_;
  numbers_seen numbers_;
  std::uint64_t twice_ = 0;
  std::uint64_t damaged_ = 0;
};

/// The bytes that the region of a node holds, piece after piece.
class region_content {
 public:
  explicit region_content(transport::node_id node) noexcept : word_(node * 0x9e3779b97f4a7c15U) {}

  /// Fills `into`, whose size is a multiple of eight bytes, with those that follow.
  void next(std::span<std::byte> into) noexcept;

 private:
  std::uint64_t word_;
};

/// The payload of the request with that number.
void fill_payload(std::uint64_t number, std::span<std::byte> into) noexcept;
bool is_payload(std::uint64_t number, std::span<const std::byte> bytes) noexcept;

/// Makes a message with a payload of at most `message::inline_payload_bytes`.
transport::message& compose(transport::endpoint& at, const ask& head, std::span<const std::byte> payload);

/// A request and its one answer, to be awaited by `over`.
class question final : public transport::exchange {
 public:
  question() noexcept : exchange(&heard) {}

  /// Sends the request. The `status` is that of `session::request`.
  status send(transport::endpoint& from, transport::node_id to, const ask& head,
              std::span<const std::byte> payload);

  event over;
  status outcome;
  ask reply_head;
  std::vector<std::byte> reply;

 private:
  static void heard(exchange& self, transport::reply_event& event) noexcept;
};

}  // namespace scoll::rail_test
