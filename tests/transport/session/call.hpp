#pragma once

#include <cstdint>
#include <cstring>
#include <functional>

#include "tests/transport/session/nodes.hpp"

namespace network {

/// One request and its reply.
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

/// Both sides call each other over the control lane, `count` times in as many tenths of a second.
inline void calls_go_on(linked_nodes& p, int count) {
  const bool held = std::exchange(p.right->in.hold, false);
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(count); ++i) {
    call there, back;
    REQUIRE(there.start(*p.left, 2, 1000 + i).has_value());
    REQUIRE(back.start(*p.right, 1, 2000 + i).has_value());
    REQUIRE(p.w.until([&] { return there.ends == 1 && back.ends == 1; }, 1s));
    CHECK(there.answered());
    CHECK(back.answered());
    p.w.pass(100ms);
  }
  p.right->in.hold = held;
}

}  // namespace network
