#include "transport/session/rails/rail_set.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {

status rail_set::add(std::string name, rail& transport, rail_traits traits) {
  if (name.empty()) return error(errc::invalid_argument, "a rail needs a name");
  if (entries_.size() == max_rails)
    return make_error(errc::invalid_argument, "rail '{}': a node has at most {} rails", name, max_rails);
  if (std::ranges::any_of(entries_, [&](const entry& e) { return e.name == name; }))
    return make_error(errc::already_exists, "a rail '{}' already exists", name);
  entries_.push_back({std::move(name), &transport, std::move(traits)});
  return {};
}

}  // namespace scoll::transport
