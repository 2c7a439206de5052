#pragma once

#include <memory>
#include <utility>

#include "transport/verbs/datagrams/datagram_device.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// Is told that a device has been put away, or opened.
class device_job_owner {
 public:
  /// `opened` is null if the device was put away, or could not be opened.
  virtual void on_device_job_done(std::unique_ptr<datagram_device> opened) noexcept = 0;

 protected:
  ~device_job_owner() = default;
};

/// Puts a device for datagrams away, or opens one, on the control thread.
class device_job final : public control_job {
 public:
  explicit device_job(device_job_owner& owner) noexcept : owner_(owner) {}
  ~device_job() = default;

  bool under_way() const noexcept { return under_way_; }
  void begin_to_put_away(std::unique_ptr<datagram_device> old, control_queue& control) noexcept {
    old_ = std::move(old);
    submit(control);
  }
  void begin_to_open(verbs_api& api, datagram_device::wish wanted) noexcept {
    api_ = &api;
    wanted_ = std::move(wanted);
    submit(api.control());
  }

 private:
  void submit(control_queue& control) noexcept {
    under_way_ = true;
    control.submit(*this);
  }
  void perform() noexcept override {
    if (old_ != nullptr) return old_.reset();
    auto opened = datagram_device::open(*api_, wanted_);
    if (opened) made_ = std::move(*opened);
  }
  void on_done() noexcept override {
    under_way_ = false;
    owner_.on_device_job_done(std::move(made_));
  }

  device_job_owner& owner_;
  verbs_api* api_ = nullptr;
  datagram_device::wish wanted_;
  std::unique_ptr<datagram_device> old_;
  std::unique_ptr<datagram_device> made_;
  bool under_way_ = false;
};

}  // namespace scoll::transport::verbs
