#include "transport/io/buffer.hpp"

#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

using scoll::transport::buffer_pool;
using scoll::transport::buffer_ref;

TEST_CASE("buffers are aligned, distinct, and bounded in number") {
  buffer_pool pool(1000, 5);
  std::vector<buffer_ref> held;
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 5; ++i) {
    held.push_back(pool.try_acquire());
    REQUIRE(held.back());
    CHECK(reinterpret_cast<std::uintptr_t>(held.back().data()) % 64 == 0);
    CHECK(held.back().capacity() == 1000);
    CHECK(held.back().index() < pool.limit());
    numbers.insert(held.back().index());
    std::memset(held.back().data(), i, 1000);
  }
  CHECK(numbers.size() == 5);
  CHECK(pool.lent() == 5);
  CHECK_FALSE(pool.try_acquire());
  for (int i = 0; i < 5; ++i) {
    CHECK(held[static_cast<std::size_t>(i)].data()[0] == std::byte(i));
    CHECK(held[static_cast<std::size_t>(i)].data()[999] == std::byte(i));
  }
}

TEST_CASE("a buffer goes back with its last reference and is the next to be lent") {
  buffer_pool pool(64, 4);
  buffer_ref first = pool.try_acquire();
  const auto* const data = first.data();
  buffer_ref copy = first;
  buffer_ref moved = std::move(first);
  CHECK_FALSE(first);  // NOLINT(bugprone-use-after-move)
  CHECK(pool.lent() == 1);
  moved.reset();
  CHECK(pool.lent() == 1);
  copy = buffer_ref();
  CHECK(pool.lent() == 0);
  first = pool.try_acquire();
  CHECK(first.data() == data);
  buffer_ref& same = first;
  first = same;
  CHECK(first.data() == data);
  CHECK(pool.lent() == 1);
}

TEST_CASE("the refill function is called once for each time the pool ran dry") {
  buffer_pool pool(64, 2);
  int refills = 0;
  pool.on_refill([](void* count) noexcept { ++*static_cast<int*>(count); }, &refills);
  {
    const buffer_ref a = pool.try_acquire();
    const buffer_ref b = pool.try_acquire();
  }
  CHECK(refills == 0);
  buffer_ref a = pool.try_acquire();
  buffer_ref b = pool.try_acquire();
  CHECK_FALSE(pool.try_acquire());
  CHECK_FALSE(pool.try_acquire());
  a.reset();
  CHECK(refills == 1);
  b.reset();
  CHECK(refills == 1);
  a = pool.try_acquire();
  b = pool.try_acquire();
  CHECK_FALSE(pool.try_acquire());
  b.reset();
  CHECK(refills == 2);
  pool.on_refill(nullptr, nullptr);
  b = pool.try_acquire();
  CHECK_FALSE(pool.try_acquire());
}

TEST_CASE("an empty pool lends nothing") {
  buffer_pool pool(64, 0);
  CHECK_FALSE(pool.try_acquire());
  CHECK(pool.lent() == 0);
}
