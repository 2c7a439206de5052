#pragma once

#include <concepts>
#include <type_traits>

#include "scoll/coro/time_limit.hpp"

namespace scoll::detail {

/// The options of an operation that has a time limit.
template <class Options>
concept limited_options = std::is_aggregate_v<Options> && requires(Options& options) {
  { options.deadline } -> std::same_as<time_limit&>;
};

/// The base class of the contexts of hooks and handlers. It lets a context be passed where a nested operation
/// takes options. The options then have the context's time limit and stop token, and defaults for everything
/// else.
template <class Context>
class converts_to_options {
 public:
  template <limited_options Options>
  operator Options() const noexcept(std::is_nothrow_default_constructible_v<Options>) {
    const auto& context = static_cast<const Context&>(*this);
    Options options{};
    options.deadline = context.remaining();
    if constexpr (requires { options.stop = context.stop(); }) options.stop = context.stop();
    return options;
  }

 protected:
  ~converts_to_options() = default;
};

}  // namespace scoll::detail
