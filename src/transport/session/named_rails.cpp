#include "transport/session/named_rails.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/session/named_part.hpp"

namespace scoll::transport {

namespace {

error no_transport_for(errc code, std::string_view address) {
  return make_error(code, "there is no transport for {:.60}{}", address,
                    remedy_for(split_name(address).transport));
}

}  // namespace

named_rails::~named_rails() = default;

status named_rails::add(std::string name, rail& transport) {
  if (name.empty()) return error(errc::invalid_argument, "a transport needs a name");
  if (find(name) != nullptr) return make_error(errc::already_exists, "a transport '{}' already exists", name);
  auto part = std::make_unique<named_part>(name, transport, entries_.empty());
  if (const auto s = rails_.add(name, *part); !s) return s;
  entries_.push_back({std::move(name), &transport, std::move(part)});
  return {};
}

named_rails::entry* named_rails::find(std::string_view name) noexcept {
  return const_cast<entry*>(std::as_const(*this).find(name));
}

const named_rails::entry* named_rails::find(std::string_view name) const noexcept {
  if (name.empty()) return entries_.empty() ? nullptr : &entries_.front();
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const entry& e) { return e.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

result<named_rails::entry*> named_rails::transport_of(std::string_view address) noexcept {
  entry* const e = find(split_name(address).transport);
  if (e == nullptr) return no_transport_for(errc::unsupported, address);
  return e;
}

result<named_rails::places> named_rails::places_of(const std::string& address) noexcept {
  const std::string_view message = address_of_lane(address, lane_id::control);
  const auto first = transport_of(message);
  if (!first) return first.error();
  if (message.size() == address.size()) return places{*first, nullptr};
  const auto second = transport_of(address_of_lane(address, lane_id::bulk));
  if (!second) return second.error();
  if (*first == *second) {
    return make_error(errc::invalid_argument, "{}: a transport can listen in one place only", address);
  }
  return places{*first, *second};
}

status named_rails::listen_in(entry& in, std::string_view address, accept_events& events) noexcept {
  const status listening = in.transport->listen(std::string(split_name(address).place), events);
  in.listening = listening.has_value();
  return listening;
}

status named_rails::listen(const std::string& address, accept_events& events) noexcept {
  const auto where = places_of(address);
  if (!where) return where.error();
  if (const auto s = listen_in(*where->message, address_of_lane(address, lane_id::control), events); !s)
    return s;
  message_ = where->message;
  if (where->bulk == nullptr) return {};
  const status listening = listen_in(*where->bulk, address_of_lane(address, lane_id::bulk), events);
  if (listening) bulk_ = where->bulk;
  if (!listening) stop_listening();
  return listening;
}

status named_rails::arrange(const std::string& address, bool may_change) {
  const auto where = places_of(address);
  if (!where) return where.error();
  rail_set ordered;
  const auto add = [&](const entry& e, std::string_view listen) {
    return ordered.add(e.name, *e.part, {.listen = std::string(listen)});
  };
  status added = add(*where->message, address_of_lane(address, lane_id::control));
  if (where->bulk != nullptr) added = add(*where->bulk, address_of_lane(address, lane_id::bulk));
  for (const entry& e : entries_) {
    if (&e != where->message && &e != where->bulk) added = add(e, {});
  }
  if (!added) return added;
  for (std::size_t i = 0; i < rails_.size() && !may_change; ++i) {
    if (rails_[i].name == ordered[i].name) continue;
    return error(errc::invalid_argument, "listen before the first message, or add transports in this order");
  }
  rails_ = std::move(ordered);
  message_ = where->message;
  bulk_ = where->bulk;
  return {};
}

std::string named_rails::listen_address() const {
  if (message_ == nullptr) return {};
  const std::string first = message_->transport->listen_address();
  if (first.empty()) return {};
  std::string text = message_->name + "://" + first;
  if (bulk_ != nullptr)
    text.append(bulk_mark).append(bulk_->name + "://" + bulk_->transport->listen_address());
  return text;
}

void named_rails::stop_listening() noexcept {
  for (entry& e : entries_) {
    if (std::exchange(e.listening, false)) e.transport->stop_listening();
  }
}

status named_rails::check_address(std::string_view address) const {
  const named_address to = split_name(address);
  const entry* const e = find(to.transport);
  if (e != nullptr) return e->transport->check_address(to.place);
  return no_transport_for(errc::invalid_argument, address);
}

void named_rails::connect(const std::string& address, connect_events& waiter) noexcept {
  const named_address to = split_name(address);
  entry* const e = find(to.transport);
  if (e != nullptr) return e->transport->connect(std::string(to.place), waiter);
  SCOLL_ASSERT(!entries_.empty(), "named_rails has no transport: add one before connecting");
  entries_.front().transport->connect(address, waiter);  // it reports that the address is not one of its own
}

void named_rails::cancel_connect(connect_events& waiter) noexcept {
  for (entry& e : entries_) e.transport->cancel_connect(waiter);
}

memory_registrar* named_rails::registrar(std::size_t number) noexcept {
  for (const entry& e : entries_) {
    std::size_t its = 0;
    for (; memory_registrar* const one = e.transport->registrar(its); ++its) {
      if (its == number) return one;
    }
    number -= its;
  }
  return nullptr;
}

bool named_rails::can_guard() const noexcept {
  return std::ranges::all_of(entries_, [](const entry& e) { return e.transport->can_guard(); });
}

std::size_t named_rails::open() const noexcept {
  std::size_t sum = 0;
  for (const entry& e : entries_) sum += e.transport->open();
  return sum;
}

task<void> named_rails::all_closed() {
  for (entry& e : entries_) co_await e.transport->all_closed();
}

}  // namespace scoll::transport
