#pragma once

#include "scoll/coro/error.hpp"
#include "scoll/coro/intrusive_list.hpp"

namespace scoll::detail {

/// Something that was begun through a group, beside its broadcasts, and that ends when the group is revoked.
/// It is part of the object that ends, and leaves its group with it.
class group_call : public list_hook<group_call> {
 public:
  using function = void (*)(group_call&, const error& why) noexcept;

  explicit group_call(function on_end) noexcept : on_end_(on_end) {}
  /// Ends the work. The object may be destroyed during this call.
  void end_call(const error& why) noexcept { on_end_(*this, why); }

 protected:
  ~group_call() = default;

 private:
  function on_end_;
};

}  // namespace scoll::detail
