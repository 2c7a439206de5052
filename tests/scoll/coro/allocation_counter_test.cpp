#include "tests/support/allocation_counter.hpp"

#include <cstddef>
#include <new>

#include "tests/catch.hpp"

TEST_CASE("the allocation counter counts allocations and bytes") {
  if constexpr (!allocation_counter::counting) return;
  const std::size_t before = allocation_counter::on_this_thread();
  const std::ptrdiff_t bytes_before = allocation_counter::bytes_on_this_thread();
  void* const block = ::operator new(1);
  CHECK(allocation_counter::on_this_thread() == before + 1);
  CHECK(allocation_counter::bytes_on_this_thread() >= bytes_before + 1);
  ::operator delete(block);
  CHECK(allocation_counter::bytes_on_this_thread() == bytes_before);
}
