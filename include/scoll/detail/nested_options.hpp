#pragma once

#include <concepts>
#include <type_traits>

#include "scoll/coro/time_limit.hpp"

namespace scoll::detail {

/// Options of an operation that takes a time limit.
template <class Options>
concept limited_options = std::is_aggregate_v<Options> && requires(Options& options) {
  { options.deadline } -> std::same_as<time_limit&>;
};

/// Base of the contexts of hooks and handlers: lets a context be passed where a nested operation takes
/// options, which then have the context's time limit and stop token, and their defaults otherwise.
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
