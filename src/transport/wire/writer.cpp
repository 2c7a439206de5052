#include "transport/wire/writer.hpp"

#include <algorithm>
#include <limits>

#include "scoll/coro/error_format.hpp"

namespace scoll::wire {

namespace {

std::int32_t as_detail(std::size_t size) noexcept {
  constexpr std::size_t largest = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(size, largest));
}

}  // namespace

error writer::error() const {
  switch (problem_) {
    case problem::length: return {errc::too_large, "a string, vector or versioned struct of 4 GiB or more"};
    case problem::depth: return make_error(errc::invalid_argument, "nested deeper than {}", max_depth);
    case problem::weightless:
      return make_error(errc::too_large, "more than {} elements without bytes", max_weightless_elements);
    case problem::none: break;
  }
  const auto text = make_error(errc::too_large, "{} bytes needed, room for {}", needed_, room_);
  return {text.code(), text.text(), as_detail(needed_)};
}

}  // namespace scoll::wire
