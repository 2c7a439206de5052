#include "transport/wire/reader.hpp"

#include "scoll/coro/error_format.hpp"

namespace scoll::wire {

error reader::error() const {
  constexpr errc code = errc::malformed;
  switch (defect_) {
    case defect::too_short:
      return make_error(code, "{} of {} bytes, {} left at offset {}", what_, amount_, left_, offset_);
    case defect::count:
      return make_error(code, "{} of {} elements of {} bytes or more, {} left at offset {}", what_, amount_,
                        unit_, left_, offset_);
    case defect::bad_value: return make_error(code, "{} is {} at offset {}", what_, amount_, offset_);
    case defect::refused: return make_error(code, "value out of range before offset {}", offset_);
    case defect::too_deep: return make_error(code, "nested deeper than {} at offset {}", amount_, offset_);
    case defect::weightless:
      return make_error(code, "{} of {} elements without bytes at offset {}", what_, amount_, offset_);
    case defect::left_over: return make_error(code, "{} bytes left over at offset {}", amount_, offset_);
    case defect::none: break;
  }
  return {};
}

}  // namespace scoll::wire
