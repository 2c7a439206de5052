#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "transport/verbs/datagrams/datagram_name.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// Is told that an errand is over.
class errand_owner {
 public:
  virtual void on_errand_done() noexcept = 0;

 protected:
  ~errand_owner() = default;
};

/// Makes and frees some address handles on the control thread, where they may block for seconds: the system may
/// have to find out who has an address.
class handle_errand final : public control_job {
 public:
  struct making {
    datagram_name name;
    address_request to;
    address_handle* made = nullptr;  // null: that has failed
  };

  explicit handle_errand(errand_owner& owner) noexcept : owner_(owner) {}
  ~handle_errand() = default;

  bool under_way() const noexcept { return under_way_; }
  bool full() const noexcept { return count_ == makings_.size(); }
  bool empty() const noexcept { return count_ == 0 && frees_.empty(); }
  void reserve(std::size_t handles) { frees_.reserve(handles); }

  // While it is not under way, which it is until `finish`:
  void make(const datagram_name& name, const address_request& to) noexcept {
    makings_[count_++] = {.name = name, .to = to};
  }
  /// Takes over all handles that are to be freed.
  void free(std::vector<address_handle*>& handles) noexcept { frees_.swap(handles); }
  void begin(device_context& context, control_queue& control) noexcept {
    context_ = &context;
    under_way_ = true;
    control.submit(*this);
  }
  std::span<making> made() noexcept { return std::span(makings_).first(count_); }
  /// Call this when all that was made has been taken over.
  void finish() noexcept {
    count_ = 0;
    under_way_ = false;
  }

 private:
  void perform() noexcept override {
    for (address_handle* each : frees_) context_->destroy(each);
    for (making& each : made()) {
      const auto handle = context_->make_address_handle(each.to);
      each.made = handle ? *handle : nullptr;
    }
  }
  void on_done() noexcept override {
    frees_.clear();
    owner_.on_errand_done();
  }

  static constexpr std::size_t most = 16;

  errand_owner& owner_;
  device_context* context_ = nullptr;
  std::array<making, most> makings_{};
  std::size_t count_ = 0;
  std::vector<address_handle*> frees_;
  bool under_way_ = false;
};

}  // namespace scoll::transport::verbs
