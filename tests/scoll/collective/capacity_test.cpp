#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "outsider.hpp"
#include "probe.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

// Replies whose capacity depends on the request, and on the number of nodes that they are merged of.
namespace {

struct named {
  static constexpr service_id id{0x0204};
  struct request {
    std::uint32_t bytes = 10;    // that each member gives
    std::uint32_t allowed = 10;  // that each may give
  };
  using reply = concatenation<std::string>;

  static std::size_t reply_capacity(const request& r, std::uint32_t nodes) {
    if (r.allowed == 99) throw std::runtime_error("it does not know");
    return sizeof(std::uint32_t) + (9 + std::size_t{r.allowed}) * nodes;
  }
  reply execute(const request& r, bcast_context& c) {
    reply mine;
    mine.parts.push_back({c.rank(), false, std::string(r.bytes, 'x')});
    return mine;
  }
};
static_assert(collective_service<named>);
static_assert(detail::table_of<named>.reply_capacity == max_reply_bytes);
static_assert(detail::table_of<probe>.capacity_for == nullptr);

}  // namespace

TEST_CASE("a capacity that grows with the subtree holds exactly what each member may give", "[capacity]") {
  for (const tree_spec& spec :
       {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(kary{3}), tree_spec(flat{})}) {
    for (const std::uint32_t n : {1U, 2U, 5U, 16U, 17U}) {
      INFO(to_string(spec) << ", " << n << " members");
      virtual_cluster c(n);
      c.serve(named{});
      auto g = c.make_group<named>(n / 2, spec);
      for (const std::uint32_t bytes : {0U, 10U, 300U}) {
        auto r = c.bcast(g, {bytes, bytes});
        INFO(describe(r.outcome()));
        REQUIRE(r.ok());
        REQUIRE(r->parts.size() == n);
      }
      auto beyond = c.bcast(g, {11, 10});
      INFO(describe(beyond.outcome()));
      CHECK(beyond.outcome().executed().size() == n);
      CHECK(beyond.ok() == (n == 1));  // the root's own reply does not travel
      if (spec.kind == flat::kind) CHECK(beyond.outcome().merged().size() == 1);
    }
  }
}

TEST_CASE("a capacity hook that throws leaves all the room that there is", "[capacity]") {
  virtual_cluster c(4);
  c.serve(named{});
  auto g = c.make_group<named>(0, chain{});
  auto r = c.bcast(g, {5'000, 99});
  REQUIRE(r.ok());
  CHECK(r->parts.size() == 4);
}
