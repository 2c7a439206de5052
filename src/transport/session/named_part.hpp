#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/io/address.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// One transport of several, as a rail that reads addresses with its name, and no others.
class named_part final : public rail {
 public:
  /// `usual`: addresses that name no transport belong to this one.
  named_part(std::string name, rail& transport, bool usual)
      : name_(std::move(name)), transport_(transport), usual_(usual) {}

  status listen(const std::string& address, accept_events& events) noexcept override {
    return transport_.listen(std::string(split_name(address).place), events);
  }
  std::string listen_address() const override {
    const std::string bound = transport_.listen_address();
    return bound.empty() ? bound : name_ + "://" + bound;
  }
  void stop_listening() noexcept override { transport_.stop_listening(); }
  status check_address(std::string_view address) const override {
    const named_address to = split_name(address);
    if (to.transport == name_ || (to.transport.empty() && usual_)) return transport_.check_address(to.place);
    return make_error(errc::invalid_argument, "{} is no address of transport {}", address, name_);
  }
  void connect(const std::string& address, connect_events& waiter) noexcept override {
    transport_.connect(std::string(split_name(address).place), waiter);
  }
  void cancel_connect(connect_events& waiter) noexcept override { transport_.cancel_connect(waiter); }
  bool can_guard() const noexcept override { return transport_.can_guard(); }
  memory_registrar* registrar(std::size_t number) noexcept override { return transport_.registrar(number); }
  std::size_t open() const noexcept override { return transport_.open(); }
  task<void> all_closed() override { return transport_.all_closed(); }

 private:
  std::string name_;
  rail& transport_;
  bool usual_;
};

}  // namespace scoll::transport
