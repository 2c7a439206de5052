#include <algorithm>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/address.hpp"
#include "transport/io/socket.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/greeter.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/named_rails.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/rails/rail_door.hpp"
#include "transport/session/session_watch.hpp"

// The part of an endpoint that knows that it may have several rails.
namespace scoll::transport {
namespace {

rail& first_of(const rail_set& rails) noexcept {
  SCOLL_ASSERT(rails.size() != 0, "an endpoint needs a rail: add one to the set first");
  return *rails[0].transport;
}

std::string words_for(std::string_view rail) {
  return rail.empty() ? "its transport" : fmt::format("the transport {}", rail);
}

}  // namespace

endpoint::endpoint(executor& ex, const rail_set& rails, endpoint_options options, endpoint_events& events,
                   std::shared_ptr<endpoint_buffers> buffers)
    : endpoint(ex, first_of(rails), std::move(options), events, std::move(buffers)) {
  if (rails.size() == 1 && named_ != nullptr) return;  // its transports are the rails
  rails_ = &rails;
  named_ = nullptr;  // one rail of several is one rail, whatever it consists of
  expect_guarding_rails();
}

/// Throws `failure` if a security mode is chosen that a rail cannot carry.
void endpoint::expect_guarding_rails() const {
  if (options_.security == nullptr || options_.security->trusts_fabric()) return;
  for (std::size_t i = 0; i < rails(); ++i) {
    if (rail_at(i).can_guard()) continue;
    throw failure(make_error(
        errc::unsupported, "security.mode {}: {} cannot encrypt; security.fabric = \"trusted\" accepts that",
        options_.security->name(), words_for(name_of_rail(i))));
  }
}

/// Connections from other hosts that prove nothing, or that are in the clear, are a choice that is said aloud.
void endpoint::warn_if_unguarded() noexcept {
  for (std::size_t i = 0; i < rails() && options_.security != nullptr; ++i) {
    if (rail_at(i).can_guard()) continue;
    handler_of(traffic_class::urgent)
        .on_security_news(fmt::format("security.fabric is trusted: what {} carries is in the clear",
                                      words_for(name_of_rail(i))));
  }
  if (options_.security != nullptr) return tell_security_news();
  for (std::size_t i = 0; i < rails(); ++i) {
    const std::string bound = rail_at(i).listen_address();
    const auto at = socket_address::parse(split_name(bound).place);
    if (!at || at->is_loopback()) continue;
    return handler_of(traffic_class::urgent)
        .on_security_news(fmt::format(
            "security.mode is none: whoever reaches {} and knows the name of the cluster is believed",
            bound));
  }
}

status endpoint::listen_on_all(const std::string& first) {
  bool somewhere = !first.empty();
  for (std::size_t i = 0; i < rails(); ++i) somewhere |= !(*rails_)[i].traits.listen.empty();
  if (!somewhere) return error(errc::invalid_argument, "no rail says where to listen: say it in its traits");
  for (std::size_t i = 0; i < rails(); ++i) {
    const rail_set::entry& own = (*rails_)[i];
    const std::string& where = i == 0 && !first.empty() ? first : own.traits.listen;
    if (where.empty()) continue;
    if (i != 0) doors_.push_back(std::make_unique<rail_door>(*this, static_cast<std::uint8_t>(i)));
    accept_events& door = i == 0 ? static_cast<accept_events&>(*this) : *doors_.back();
    if (const auto s = own.transport->listen(where, door); !s) {
      stop_listening();
      return make_error(s.error().code(), "rail {}: {}", own.name, s.error().text());
    }
  }
  return {};
}

/// Peers number the transports of this node in the order in which its address names them.
status endpoint::arrange_transports(const std::string& address) {
  const auto unused = [](const auto& known) {
    return std::ranges::all_of(known.second->lanes_, [](const auto& l) { return l == nullptr; });
  };
  const bool may_change = std::ranges::all_of(sessions_, unused);
  if (const auto s = named_->arrange(address, may_change); !s) return s;
  for (auto& [node, peer] : sessions_) {
    if (peer->paths_ != nullptr && may_change) peer->paths_->rank_anew(*this);
  }
  return {};
}

void endpoint::stop_listening() noexcept {
  for (std::size_t i = 0; i < rails(); ++i) rail_at(i).stop_listening();
}

/// The address that peers are told may name two transports.
std::string endpoint::address_of_transport(std::size_t number) const {
  const std::string whole = advertised_address();
  const std::string_view message = address_of_lane(whole, lane_id::control);
  if (number == 0) return std::string(message);
  if (number == 1 && message.size() != whole.size())
    return std::string(address_of_lane(whole, lane_id::bulk));
  return rail_at(number).listen_address();
}

std::string endpoint::address_of_rail(std::size_t number) const {
  if (named_ != nullptr) return address_of_transport(number);
  if (number == 0) return advertised_address();
  std::string bound = rail_at(number).listen_address();
  return bound.empty() ? (*rails_)[number].traits.listen : bound;
}

}  // namespace scoll::transport
