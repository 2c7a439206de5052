#pragma once

#include <fmt/format.h>

#include <string>

#include "scoll/collective/group_state.hpp"
#include "scoll/coro/error_format.hpp"

namespace scoll::detail {

/// Names a group for an error: `group "layout"`, or `the group` if it has no name.
inline std::string called(const group_state& group) {
  return group.name.empty() ? "the group" : fmt::format("group \"{}\"", group.name.text());
}
/// Names a group at the beginning of an error: `"layout": `, or nothing if it has no name.
inline std::string name_before(const group_state& group) {
  return group.name.empty() ? std::string() : fmt::format("\"{}\": ", group.name.text());
}

inline error no_such_name() {
  return make_error(errc::invalid_argument,
                    "the name of a group has at most {} bytes and no control characters",
                    group_name::most_bytes);
}

/// The reason why a group that has ended here takes no broadcast.
inline error why_ended(const group_state& group) {
  if (group.replaced) {
    return make_error(errc::membership_changed, "{} has other members now: ask out_of_band for it again",
                      called(group));
  }
  return make_error(errc::unknown_group, "{} has been destroyed", called(group));
}

}  // namespace scoll::detail
