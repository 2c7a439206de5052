#pragma once

#include <string_view>

#include "scoll/coro/error.hpp"

namespace scoll::detail {

/// The exception that is being handled, as an error: the error inside a `failure`; `hook_failed` with the text
/// of any other `std::exception`; `hook_failed` with the text `otherwise` for anything else. It is called in a
/// catch block, and is the only way from an exception of the user's code to an error.
error caught(std::string_view otherwise) noexcept;

}  // namespace scoll::detail
