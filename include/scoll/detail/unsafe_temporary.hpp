#pragma once

#include <type_traits>

namespace scoll::detail {

/// Temporaries of such types beside `co_await` are destroyed twice by GCC 12, and nothing but a name saves
/// them.
template <class T>
concept unsafe_temporary = std::is_aggregate_v<T> && !std::is_trivially_copyable_v<T>;

}  // namespace scoll::detail
