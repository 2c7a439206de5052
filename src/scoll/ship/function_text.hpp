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

/// A function as its node describes it to a caller whose function is another one (docs/wire.md). Points into
/// the message.
struct function_text {
  wire::borrowed_string name;
  wire::borrowed_string argument;  ///< signatures, cut at their ends if they are too long
  wire::borrowed_string result;
};

/// Writes the description of `f`; returns its size, or 0 if there is not even room for the name.
std::size_t describe_function(const function_key& f, std::span<std::byte> into) noexcept;

/// What is registered has the number of what is to be.
error same_number(const function_key& taken, const function_key& added) noexcept;
/// Node `peer` does not serve it.
error not_served(const function_key& f, node_id peer) noexcept;
/// `here`, the caller's function, is not what node `peer` has under its number. Names both: their names, or
/// where the signatures of the one name first differ.
error other_function(const function_key& here, node_id peer, const function_text& there) noexcept;

}  // namespace scoll::detail
