#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "transport/memory/piece_order.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::sim {

/// How members have answered hosts that want bulk data they have no right to. Lives that have crashed count to
/// the end of the run.
struct bulk_refusals {
  std::uint64_t served = 0;  ///< they got memory, or a piece
  std::uint64_t opens = 0;   ///< refused because the host gets no bulk data from the member
  std::uint64_t orders = 0;  ///< refused because the descriptor is stale
};

/// A request for a member's memory that must be refused.
struct false_open final : transport::exchange {
  explicit false_open(bulk_refusals& to) noexcept : exchange(&on_reply), said(&to) {}

  static void on_reply(transport::exchange& self, transport::reply_event& event) noexcept {
    auto& open = static_cast<false_open&>(self);
    open.said->opens += event.refused && event.outcome.error() == errc::not_member;
    if (!event.outcome) return;
    ++open.said->served;
    if (!event.final) open.cancel();
  }
  bulk_refusals* said;
};

/// An order for the first piece of memory that has been withdrawn.
struct false_order final : transport::piece_order {
  false_order(transport::endpoint& at, bulk_refusals& to, std::size_t bytes)
      : piece_order(at, &ended), said(&to), memory(bytes) {}

  static void ended(piece_order& self) noexcept {
    const auto& order = static_cast<const false_order&>(self);
    order.said->served += order.outcome().has_value();
    order.said->orders += !order.outcome() && order.outcome().error() == errc::stale_descriptor;
  }
  bulk_refusals* said;
  std::vector<std::byte> memory;
};

}  // namespace scoll::sim
