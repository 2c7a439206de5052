#include "scoll/collective/operation/own_records.hpp"

#include <chrono>

#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using namespace scoll::detail;
using namespace std::chrono_literals;

namespace {

broadcast_name named(std::uint64_t counter, std::uint64_t root = 1, std::uint64_t incarnation = 1) {
  return {group_id{9, 1, 1, {}}, root, incarnation, counter};
}

}  // namespace

TEST_CASE("records are bounded in bytes and in number", "[repair]") {
  testing::virtual_executor ex;
  own_records few(ex, 2 * (100 + 128));
  CHECK_FALSE(few.why_full(100));
  few.make(named(1), 100, never);
  few.make(named(2), 100, never);
  CHECK(few.used() == few.limit());
  CHECK(few.why_full(100).text() ==
        "0 bytes are left for replies that are kept, 228 needed: node.repair_memory is 456");
  few.ended_below(named(1).group, {1, 1, 2, 0}, 2);
  CHECK_FALSE(few.why_full(100));
  CHECK(few.size() == 1);
  CHECK(few.find(named(1)) == nullptr);
  CHECK(few.find(named(2)) != nullptr);

  own_records many(ex, 1 << 30);
  for (std::uint64_t i = 0; i < own_records::most_records; ++i) many.make(named(i), 0, never);
  CHECK(many.why_full(0) == errc::busy);
}

TEST_CASE("records go with the time, with what their root says, and with their group", "[repair]") {
  testing::virtual_executor ex;
  own_records records(ex, 1 << 20);
  records.make(named(1), 0, ex.now() + 5s);
  records.make(named(2), 0, ex.now() + 1s);
  records.make(named(3, 2), 0, ex.now() + 9s);
  records.make(named(1, 1, 2), 0, ex.now() + 9s);
  records.prolong(named(2), ex.now() + 6s);
  ex.run_for(4s);
  CHECK(records.size() == 4);
  ex.run_for(1s);
  CHECK(records.find(named(1)) == nullptr);
  ex.run_for(1s);
  CHECK(records.find(named(2)) == nullptr);
  records.ended_below(named(1).group, {1, 2, 0, 0}, 2);  // of that root's life alone
  CHECK(records.find(named(1, 1, 2)) == nullptr);
  CHECK(records.find(named(3, 2)) != nullptr);
  records.end_group(group_id{8, 1, 1, {}});
  CHECK(records.size() == 1);
  records.end_group(named(1).group);
  CHECK(records.size() == 0);
  CHECK(records.used() == 0);
}

TEST_CASE("who waits for a record hears of its end, and a record that is gone can still be read",
          "[repair]") {
  testing::virtual_executor ex;
  own_records records(ex, 1 << 20);
  const auto record = records.make(named(1), 0, never);
  event first, second;
  record->await(first);
  record->await(second);
  record->leave(second);
  CHECK(record->running());
  records.end_group(named(1).group);
  record->end(member_state::merged);
  CHECK_FALSE(record->running());
  CHECK(record->state() == member_state::merged);
  CHECK(first.is_set());
  CHECK_FALSE(second.is_set());
}
