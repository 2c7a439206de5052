#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "transport/verbs/verbs_rail.hpp"

namespace scoll::test {

/// A verbs rail together with the rail below it, and its devices.
class stacked_rail final : public transport::rail {
 public:
  stacked_rail(executor& home, std::unique_ptr<transport::rail> under,
               std::shared_ptr<transport::verbs_api> devices, const transport::verbs_options& options)
      : under_(std::move(under)), devices_(std::move(devices)), verbs(home, *devices_, *under_, options) {}

  status listen(const std::string& address, transport::accept_events& events) noexcept override {
    return verbs.listen(address, events);
  }
  std::string listen_address() const override { return verbs.listen_address(); }
  void stop_listening() noexcept override { verbs.stop_listening(); }
  status check_address(std::string_view address) const override { return verbs.check_address(address); }
  void connect(const std::string& address, transport::connect_events& waiter) noexcept override {
    verbs.connect(address, waiter);
  }
  void cancel_connect(transport::connect_events& waiter) noexcept override { verbs.cancel_connect(waiter); }
  transport::memory_registrar* registrar(std::size_t number) noexcept override {
    return verbs.registrar(number);
  }
  std::size_t open() const noexcept override { return verbs.open(); }
  task<void> all_closed() override { return verbs.all_closed(); }

 private:
  std::unique_ptr<transport::rail> under_;
  std::shared_ptr<transport::verbs_api> devices_;

 public:
  transport::verbs_rail verbs;
};

}  // namespace scoll::test
