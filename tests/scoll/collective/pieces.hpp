#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/collective/size_limits.hpp"
#include "tests/catch.hpp"
#include "transport/wire/wire.hpp"

/// Answers, and parts of them, that a test makes for a member that says whatever the test chooses.
namespace scoll::test {

using detail::collective_reply_head;
using detail::outcome_builder;

using bytes = std::vector<std::byte>;

struct piece {
  collective_reply_head head;
  bytes payload;
};

inline outcome_builder account_of(std::initializer_list<member_report> runs) {
  outcome_builder a;
  const std::uint16_t why = a.add_cause({phase::execute, error(errc::io_error, "broken"), 3});
  for (const member_report& run : runs)
    a.add(run.members, run.state, run.state == member_state::merged ? std::uint16_t{0} : why);
  a.normalise();
  return a;
}

inline member_report failed(std::uint32_t first, std::uint32_t last) {
  return {{first, last}, member_state::failed, 1};
}
inline member_report merged(std::uint32_t first, std::uint32_t last) {
  return {{first, last}, member_state::merged, 0};
}

/// An answer, or a part of one, with an account, and a value of `members` members if that is not 0.
inline piece piece_of(std::uint8_t flags, const outcome_builder& account, std::uint64_t total = 0,
                      std::uint32_t members = 0) {
  piece p;
  p.head.flags = flags;
  p.payload.resize(account_reserve_bytes);
  wire::writer out(p.payload);
  account.encode(out);
  REQUIRE(out.ok());
  p.payload.resize(out.needed());
  p.head.account_bytes = static_cast<std::uint32_t>(p.payload.size());
  if (members == 0) return p;
  p.head.values = 1;
  bytes value(16);
  value[0] = std::byte{12};
  value[4] = static_cast<std::byte>(total);
  value[12] = static_cast<std::byte>(members);
  p.payload.insert(p.payload.end(), value.begin(), value.end());
  return p;
}

}  // namespace scoll::test
