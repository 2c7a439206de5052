#pragma once

#include <string_view>

#include "scoll/coro/error.hpp"

namespace scoll::detail {

/// Turns the exception that is being handled into an error: the error inside a `failure`; `hook_failed` with
/// the text of any other `std::exception`; `hook_failed` with the text `otherwise` for anything else. Call it
/// in a catch block. All exceptions of the user's code become errors here.
error caught(std::string_view otherwise) noexcept;

}  // namespace scoll::detail
