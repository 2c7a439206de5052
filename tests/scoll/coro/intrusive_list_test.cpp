#include "scoll/coro/intrusive_list.hpp"

#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("what is taken from the front of a list is in none, and the rest stays") {
  struct element : list_hook<> {};
  element a, b, c;
  intrusive_list<element> list;
  list.push_back(a);
  list.push_back(b);
  list.push_back(c);
  CHECK(&list.pop_front() == &a);
  CHECK_FALSE(a.linked());
  CHECK(list.first() == &b);
  list.push_front(a);
  CHECK(list.next(a) == &b);
  b.unlink();
  CHECK(&list.pop_front() == &a);
  CHECK(&list.pop_front() == &c);
  CHECK(list.empty());
  list.push_back(c);
  CHECK(&list.back() == &c);
  CHECK(&list.front() == &c);
}
