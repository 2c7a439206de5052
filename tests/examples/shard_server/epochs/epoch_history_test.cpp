#include "epoch_history.hpp"

#include "tests/catch.hpp"

using shard_tests::epoch_history;

// Each fault that the history of epochs is checked for is found.

TEST_CASE("a history without faults has none", "[epochs]") {
  epoch_history h;
  const auto first = h.begin();
  const auto second = h.begin();
  h.acknowledge(second, 1, "b");
  h.acknowledge(first, 2, "a");
  for (const std::uint64_t server : {1U, 2U}) h.observe(server, 0, "");
  h.observe(1, 1, "b");
  for (const std::uint64_t server : {1U, 2U}) h.observe(server, 2, "a");
  h.end({1, 2});
  CHECK(h.faults().empty());
  CHECK((h.requests() == 2 && h.acknowledged() == 2 && h.epochs() == 2));
}

TEST_CASE("each fault of a history is found", "[epochs]") {
  epoch_history h;
  const auto first = h.begin();
  SECTION("a lost epoch") {
    h.acknowledge(first, 2, "a");
    h.observe(1, 1, "b");
    h.end({1});
    CHECK(h.has_fault("lost: epoch 2"));
  }
  SECTION("servers that stand apart") {
    h.observe(1, 1, "b");
    h.observe(2, 2, "a");
    h.end({1, 2});
    CHECK(h.has_fault("apart"));
  }
  SECTION("an epoch with two contents") {
    h.acknowledge(first, 1, "a");
    h.observe(1, 1, "b");
    CHECK(h.has_fault("two contents"));
  }
  SECTION("a content that is two epochs") {
    h.observe(1, 1, "a");
    h.observe(1, 2, "a");
    CHECK(h.has_fault("two epochs"));
  }
  SECTION("a server that goes back") {
    h.observe(1, 2, "a");
    h.observe(1, 1, "b");
    CHECK(h.has_fault("back"));
  }
  SECTION("an epoch that is acknowledged twice") {
    h.acknowledge(first, 1, "a");
    h.acknowledge(h.begin(), 1, "a");
    CHECK(h.has_fault("acknowledged twice"));
  }
  SECTION("epochs that do not ascend") {
    h.acknowledge(first, 2, "a");
    h.acknowledge(h.begin(), 1, "b");
    CHECK(h.has_fault("not ascending"));
  }
  CHECK(h.faults().size() >= 1);
}
