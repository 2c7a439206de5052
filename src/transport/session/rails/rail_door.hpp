#pragma once

#include <cstdint>

#include "transport/session/endpoint.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// Where the connections of a further rail come in. It knows by which rail they do.
class endpoint::rail_door final : public accept_events {
 public:
  rail_door(endpoint& owner, std::uint8_t number) noexcept : owner_(owner), number_(number) {}
  ~rail_door() = default;
  rail_door(const rail_door&) = delete;
  rail_door& operator=(const rail_door&) = delete;

 private:
  void on_accepted(link& accepted) noexcept override { owner_.accept(accepted, number_); }
  void on_interface_hint(bool usable) noexcept override { owner_.heed_hint(number_, usable); }

  endpoint& owner_;
  std::uint8_t number_;
};

}  // namespace scoll::transport
