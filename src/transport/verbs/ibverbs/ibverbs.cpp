#include "transport/verbs/ibverbs.hpp"

#include <infiniband/verbs.h>

#include <random>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/control_thread.hpp"
#include "transport/verbs/ibverbs/ibverbs_context.hpp"

namespace scoll::transport {
namespace {

/// The list of devices while it is looked at.
class device_list {
 public:
  device_list() noexcept : devices_(ibv_get_device_list(&count_)) {}
  ~device_list() {
    if (devices_ != nullptr) ibv_free_device_list(devices_);
  }
  device_list(const device_list&) = delete;
  device_list& operator=(const device_list&) = delete;

  std::span<ibv_device* const> all() const noexcept {
    return {devices_, devices_ == nullptr ? 0 : static_cast<std::size_t>(count_)};
  }

 private:
  int count_ = 0;
  ibv_device** devices_;
};

class ibverbs_api final : public verbs_api {
 public:
  explicit ibverbs_api(reactor& home) noexcept : home_(home), control_(home) {}

  std::vector<std::string> device_names() override {
    const device_list devices;
    std::vector<std::string> names;
    for (ibv_device* each : devices.all()) names.emplace_back(ibv_get_device_name(each));
    return names;
  }
  result<std::unique_ptr<verbs::device_context>> open(const std::string& name) override {
    const device_list devices;
    for (ibv_device* each : devices.all()) {
      if (name == ibv_get_device_name(each)) return verbs::ibverbs_context::open(home_, *each);
    }
    return make_error(errc::not_found, "verbs: there is no RDMA device {}: see ibv_devices", name);
  }
  verbs::control_queue& control() noexcept override { return control_; }
  std::uint64_t seed() override {
    std::random_device source;
    return (std::uint64_t{source()} << 32U) | source();
  }

 private:
  reactor& home_;
  verbs::control_thread control_;
};

}  // namespace

std::shared_ptr<verbs_api> use_ibverbs(reactor& home) {
  return std::make_shared<ibverbs_api>(home);
}

}  // namespace scoll::transport
