#include "tests/support/allocation_counter.hpp"

#include <cstddef>
#include <new>

#include "tests/catch.hpp"

TEST_CASE("the allocation counter counts") {
  if constexpr (!allocation_counter::counting) return;
  const std::size_t before = allocation_counter::on_this_thread();
  void* const block = ::operator new(1);
  CHECK(allocation_counter::on_this_thread() == before + 1);
  ::operator delete(block);
}
