#include "transport/verbs/verbs_survey.hpp"

#include <memory>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/world.hpp"
#include "transport/verbs/verbs_api.hpp"

using namespace scoll;
using namespace scoll::transport;

namespace {

constexpr std::uint64_t plenty = 1U << 30U;

/// The device of host 1, and what a test changes of what it says.
class changed_device final : public verbs_api {
 public:
  class context final : public verbs::device_context {
   public:
    context(std::unique_ptr<verbs::device_context> inner, const changed_device& by)
        : inner_(std::move(inner)), by_(by) {}

    verbs::device_limits limits() override {
      auto all = inner_->limits();
      if (by_.shared_receives != 0) all.shared_receives = by_.shared_receives;
      return all;
    }
    result<verbs::port_facts> port(std::uint8_t number) override {
      auto facts = inner_->port(number);
      if (facts && by_.mtu != 0) facts->mtu = by_.mtu;
      return facts;
    }
    result<verbs::gid_entry> address(std::uint8_t port, std::uint32_t index) override {
      auto entry = inner_->address(port, index);
      if (entry && by_.without_v2) entry->usable = false;
      return entry;
    }
    result<verbs::memory_object*> register_memory(std::span<std::byte>, verbs::register_for) override {
      return unexpected();
    }
    void deregister(verbs::memory_object*) noexcept override {}
    result<verbs::completion_queue*> make_completion_queue(std::uint32_t) override { return unexpected(); }
    void destroy(verbs::completion_queue*) noexcept override {}
    result<verbs::receive_queue*> make_receive_queue(std::uint32_t) override { return unexpected(); }
    void destroy(verbs::receive_queue*) noexcept override {}
    result<verbs::queue_pair_object*> make_queue_pair(const verbs::queue_pair_request&,
                                                      std::uint8_t) override {
      return unexpected();
    }
    status connect(verbs::queue_pair_object*, const verbs::path_request&) override { return unexpected(); }
    result<verbs::queue_pair_object*> make_datagram_pair(const verbs::datagram_pair_request&,
                                                         std::uint8_t) override {
      return unexpected();
    }
    void destroy(verbs::queue_pair_object*) noexcept override {}
    result<verbs::address_handle*> make_address_handle(const verbs::address_request&) override {
      return unexpected();
    }
    void destroy(verbs::address_handle*) noexcept override {}
    std::size_t post(verbs::receive_queue*, std::span<const verbs::receive_request>) noexcept override {
      return 0;
    }
    std::size_t post(verbs::queue_pair_object*, std::span<const verbs::send_request>) noexcept override {
      return 0;
    }
    std::size_t post(verbs::queue_pair_object*, std::span<const verbs::read_request>) noexcept override {
      return 0;
    }
    std::size_t post(verbs::queue_pair_object*, std::span<const verbs::window_request>) noexcept override {
      return 0;
    }
    std::uint32_t window_key(const verbs::queue_pair_object*, std::uint32_t) const noexcept override {
      return 0;
    }
    std::size_t post(verbs::queue_pair_object*, std::span<const verbs::datagram_request>) noexcept override {
      return 0;
    }
    int poll(verbs::completion_queue*, std::span<verbs::completion>) noexcept override { return 0; }
    status arm(verbs::completion_queue*, verbs::wake_for) noexcept override { return {}; }
    void wake_on_completion(verbs::wakeup&) noexcept override {}
    bool take_event(verbs::device_event&) noexcept override { return false; }
    void wake_on_event(verbs::wakeup&) noexcept override {}
    void stop_waking(verbs::wakeup&) noexcept override {}

   private:
    static error unexpected() { return error(errc::unsupported, "a look makes nothing"); }

    std::unique_ptr<verbs::device_context> inner_;
    const changed_device& by_;
  };

  explicit changed_device(test::fake_verbs_world& w) : inner_(w.devices.api(w.clock, 1)) {}

  std::vector<std::string> device_names() override { return there ? inner_->device_names() : none_; }
  result<std::unique_ptr<verbs::device_context>> open(const std::string& name) override {
    if (!opens) return error(errc::io_error, "verbs: open on fake0: Permission denied");
    auto opened = inner_->open(name);
    if (!opened) return opened.error();
    return std::unique_ptr<verbs::device_context>(std::make_unique<context>(std::move(*opened), *this));
  }
  verbs::control_queue& control() noexcept override { return inner_->control(); }
  std::uint64_t seed() override { return inner_->seed(); }

  bool there = true;
  bool opens = true;
  bool without_v2 = false;
  std::uint32_t mtu = 0;
  std::uint32_t shared_receives = 0;

 private:
  std::shared_ptr<verbs_api> inner_;
  std::vector<std::string> none_;
};

}  // namespace

TEST_CASE("a look at the devices lists their ports and addresses, and finds nothing wrong") {
  test::fake_verbs_world w;
  changed_device api(w);
  const verbs_survey found = survey_verbs(api, {}, plenty);
  CHECK(found.usable());
  CHECK(found.troubles.empty());
  CHECK(found.locked_bytes == (2048 + 1024) * 9216 + 2 * 32 * 524288);
  REQUIRE(found.devices.size() == 1);
  CHECK(found.devices[0].name == "fake0");
  CHECK(found.devices[0].reads == 16);
  CHECK(found.devices[0].troubles.empty());
  REQUIRE(found.devices[0].ports.size() == 1);
  const auto& port = found.devices[0].ports[0];
  CHECK(port.active);
  CHECK(port.ethernet);
  CHECK(port.mtu == 4096);
  CHECK(port.troubles.empty());
  REQUIRE(port.addresses.size() == 2);
  CHECK(port.addresses[0].text == "fe80::");
  CHECK(port.addresses[1].text == "10.0.0.1");
  CHECK(port.addresses[1].kind == verbs_survey::address_kind::roce_v2);
}

TEST_CASE("a look at the devices says what is wrong with each port, and what to do") {
  test::fake_verbs_world w;
  changed_device api(w);
  verbs_options options;
  std::string trouble;
  SECTION("it is down") {
    w.devices.set_port(1, false);
    trouble = "verbs: port 1 of fake0 is down: check cable and 'ip link'";
  }
  SECTION("it has no RoCEv2 address") {
    api.without_v2 = true;
    trouble = "verbs: port 1 of fake0 has no RoCEv2 address at all: set verbs.address";
  }
  SECTION("it has another address") {
    options.address = "10.0.0.9";
    trouble = "verbs: port 1 of fake0 has no RoCEv2 address 10.0.0.9: set verbs.address";
  }
  SECTION("its packets are too short") {
    api.mtu = 512;
    trouble =
        "verbs: the MTU of port 1 of fake0 is 512: raise that of the network interface, to 4200 for 4096";
  }
  const verbs_survey found = survey_verbs(api, options, plenty);
  CHECK_FALSE(found.usable());
  CHECK(found.devices.at(0).ports.at(0).troubles == std::vector{trouble});
  CHECK(found.devices[0].ports[0].addresses.size() == 2);
}

TEST_CASE("a look at the devices says what is wrong with a device, or with the machine") {
  test::fake_verbs_world w;
  changed_device api(w);
  verbs_options options;
  SECTION("a device has short queues") {
    api.shared_receives = 1000;
    const auto found = survey_verbs(api, options, plenty);
    CHECK_FALSE(found.usable());
    CHECK_THAT(found.devices.at(0).troubles.at(0), Catch::Contains("fake0 has 1000 shared receives") &&
                                                       Catch::Contains("lower verbs.receive_slots"));
  }
  SECTION("a device cannot be opened") {
    api.opens = false;
    const auto found = survey_verbs(api, options, plenty);
    CHECK_FALSE(found.usable());
    CHECK_THAT(found.devices.at(0).troubles.at(0), Catch::Contains("Permission denied"));
    CHECK(found.devices[0].ports.empty());
  }
  SECTION("there is none") {
    api.there = false;
    const auto found = survey_verbs(api, options, plenty);
    CHECK_FALSE(found.usable());
    CHECK_THAT(found.troubles.at(0), Catch::Contains("there is no RDMA device: load the driver"));
  }
  SECTION("another one was chosen") {
    options.device = "mlx5_0";
    const auto found = survey_verbs(api, options, plenty);
    CHECK_FALSE(found.usable());
    CHECK(found.troubles.at(0) == "verbs.device is mlx5_0, and there are fake0");
  }
  SECTION("too little memory may be locked") {
    const auto found = survey_verbs(api, options, 8U << 20U);
    CHECK_FALSE(found.usable());
    CHECK_THAT(found.troubles.at(0), Catch::Contains("a process may lock 8 MiB in memory, and a verbs rail "
                                                     "locks 59 MiB: raise the limit"));
    options.read_slabs = 0;
    options.receive_slots = options.send_slabs = 128;
    CHECK(survey_verbs(api, options, 8U << 20U).usable());
  }
  SECTION("no memory is limited") {
    CHECK(survey_verbs(api, options, std::nullopt).usable());
  }
}
