#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/greeter.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/rails/rail_door.hpp"
#include "transport/session/session_watch.hpp"

// The part of an endpoint that knows that it may have several rails.
namespace scoll::transport {
namespace {

rail& first_of(const rail_set& rails) noexcept {
  SCOLL_ASSERT(rails.size() != 0, "an endpoint needs a rail: add one to the set first");
  return *rails[0].transport;
}

}  // namespace

endpoint::endpoint(executor& ex, const rail_set& rails, endpoint_options options, endpoint_events& events,
                   std::shared_ptr<endpoint_buffers> buffers)
    : endpoint(ex, first_of(rails), std::move(options), events, std::move(buffers)) {
  rails_ = &rails;
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

void endpoint::stop_listening() noexcept {
  for (std::size_t i = 0; i < rails(); ++i) rail_at(i).stop_listening();
}

std::string endpoint::address_of_rail(std::size_t number) const {
  if (number == 0) return advertised_address();
  std::string bound = rail_at(number).listen_address();
  return bound.empty() ? (*rails_)[number].traits.listen : bound;
}

}  // namespace scoll::transport
