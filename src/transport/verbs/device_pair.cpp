#include "transport/verbs/device_pair.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/verbs/device.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::uint32_t packet_mask = (1U << 24U) - 1;

}  // namespace

error device_pair::failure_of(const completion& done) noexcept {
  switch (done.outcome) {
    case completion::result::retries_exceeded:
      return {errc::connection_lost, "the peer's RDMA port does not answer"};
    case completion::result::receiver_not_ready:
      return {errc::connection_lost, "the peer had no place for what was sent"};
    case completion::result::access_denied:
      return {errc::malformed, "a read of memory to which there is no right"};
    case completion::result::flushed: return {errc::connection_lost, "the queue pair has failed"};
    default:
      return make_error(errc::connection_lost, "the queue pair has failed (vendor error {})",
                        done.vendor_error);
  }
}

device_pair::device_pair(device& owner, gate_pass open, const queue_pair_request& wanted) noexcept
    : device_(owner),
      open_(std::move(open)),
      wanted_(wanted),
      first_packet_(owner.random_number() & packet_mask) {
  device_.enter(*this);
}

void device_pair::begin(work what) noexcept {
  doing_ = what;
  device_.control().submit(*this);
}

void device_pair::connect(const path_request& path) noexcept {
  path_ = path;
  path_.own_packet = first_packet_;
  begin(work::connect);
}

void device_pair::begin_end() noexcept {
  released_ = true;
  if (doing_ != work::none) return;
  if (object_ != nullptr) return begin(work::destroy);
  device_.leave(*this);
}

void device_pair::destroy_now() noexcept {
  if (doing_ == work::none && object_ != nullptr) begin(work::destroy);
  if (doing_ != work::none) device_.control().finish(*this);
}

void device_pair::perform() noexcept {
  device_context& context = device_.context();
  switch (doing_) {
    case work::make: {
      const auto made = context.make_queue_pair(wanted_, device_.port_number());
      if (made) object_ = *made;
      outcome_ = made ? status{} : status(made.error());
      return;
    }
    case work::connect: outcome_ = context.connect(object_, path_); return;
    case work::destroy: context.destroy(object_); return;
    case work::none: return;
  }
}

void device_pair::on_done() noexcept {
  const work done = std::exchange(doing_, work::none);
  if (done == work::make && object_ != nullptr) {
    number_ = object_->number;
    device_.list(*this);
  }
  if (done == work::destroy) {
    object_ = nullptr;
    device_.unlist(*this);
    return on_destroyed();
  }
  if (released_) return object_ != nullptr ? begin(work::destroy) : device_.leave(*this);
  const status outcome = outcome_;
  if (done == work::make) return on_pair_made(outcome);
  connected_ = static_cast<bool>(outcome);
  on_pair_connected(outcome);
}

}  // namespace scoll::transport::verbs
