#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "scoll/coro/error.hpp"
#include "scoll/ids.hpp"
#include "scoll/ship/remote_function.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {

/// Describes a function to a caller that means another function by the same number (docs/wire.md). It points
/// into the message.
struct function_text {
  wire::borrowed_string name;
  wire::borrowed_string argument;  ///< the signatures, cut at their ends if they are too long
  wire::borrowed_string result;
};

/// Writes the description of `f`. Returns its size, or 0 if there is not even room for the name.
std::size_t describe_function(const function_key& f, std::span<std::byte> into) noexcept;

/// The error for registering `added` while `taken` has the same number.
error same_number(const function_key& taken, const function_key& added) noexcept;
/// The error for a call of a function that node `peer` does not serve.
error not_served(const function_key& f, node_id peer) noexcept;
/// The error for a call of `here` while node `peer` has another function under its number. It gives both
/// names, or where the signatures of the one name first differ.
error other_function(const function_key& here, node_id peer, const function_text& there) noexcept;

}  // namespace scoll::detail
