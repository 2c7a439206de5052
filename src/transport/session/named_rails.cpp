#include "transport/session/named_rails.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"

namespace scoll::transport {

status named_rails::add(std::string name, rail& transport) {
  if (name.empty()) return error(errc::invalid_argument, "a transport needs a name");
  if (find(name) != nullptr) return make_error(errc::already_exists, "a transport '{}' already exists", name);
  entries_.push_back({std::move(name), &transport});
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

result<named_rails::entry*> named_rails::listen_in(std::string_view address, accept_events& events) noexcept {
  const named_address where = split_name(address);
  entry* const e = find(where.transport);
  if (e == nullptr) return make_error(errc::unsupported, "there is no transport for {}", address);
  const status listening = e->transport->listen(std::string(where.place), events);
  if (!listening) return listening.error();
  e->listening = true;
  return e;
}

status named_rails::listen(const std::string& address, accept_events& events) noexcept {
  const std::string_view message = address_of_lane(address, lane_id::control);
  const std::string_view bulk = address_of_lane(address, lane_id::bulk);
  const bool apart = message.size() != address.size();
  if (apart && find(split_name(message).transport) == find(split_name(bulk).transport)) {
    return make_error(errc::invalid_argument, "{}: a transport can listen in one place only", address);
  }
  auto first = listen_in(message, events);
  if (!first) return first.error();
  message_ = *first;
  if (!apart) return {};
  auto second = listen_in(bulk, events);
  if (second) {
    bulk_ = *second;
    return {};
  }
  stop_listening();
  return second.error();
}

std::string named_rails::listen_address() const {
  if (message_ == nullptr) return {};
  std::string text = message_->name + "://" + message_->transport->listen_address();
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
  return make_error(errc::invalid_argument, "there is no transport for {}", address);
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

std::size_t named_rails::open() const noexcept {
  std::size_t sum = 0;
  for (const entry& e : entries_) sum += e.transport->open();
  return sum;
}

task<void> named_rails::all_closed() {
  for (entry& e : entries_) co_await e.transport->all_closed();
}

}  // namespace scoll::transport
