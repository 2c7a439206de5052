#pragma once

#include <type_traits>

namespace scoll::detail {

/// GCC 12 destroys temporaries of such types twice beside `co_await`; only giving the object a name avoids
/// this.
template <class T>
concept unsafe_temporary = std::is_aggregate_v<T> && !std::is_trivially_copyable_v<T>;

}  // namespace scoll::detail
