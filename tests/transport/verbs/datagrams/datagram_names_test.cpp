#include "transport/verbs/datagrams/datagram_names.hpp"

#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/verbs/mapped_address.hpp"

using namespace scoll;
using namespace scoll::transport::verbs;
using namespace std::chrono_literals;

namespace {

constexpr time_point start{1s};

datagram_name name_number(std::uint8_t number) {
  return {mapped({10, 0, 0, number}), 7002};
}

whereabouts place_number(std::uint8_t number, std::uint32_t life = 1) {
  return {.address = mapped({10, 0, 0, number}),
          .queue_pair = 100 * life + number,
          .queue_key = 7 * life,
          .mtu = 4096,
          .epoch = 1000 * life + number};
}

/// A name that is known to lead to its host's first life.
known_name& known(datagram_names& names, std::uint8_t number, time_point now = start) {
  known_name& n = names.add(name_number(number));
  REQUIRE(datagram_names::answered(n, names.ask(n, now), place_number(number)) ==
          datagram_names::answer::moved);
  return n;
}

}  // namespace

TEST_CASE("a name that is not known is asked about, and again after a pause, with the same nonce") {
  datagram_names names(32, 1);
  known_name& n = names.add(name_number(1));
  CHECK_FALSE(n.leads_somewhere());
  REQUIRE(datagram_names::is_to_be_asked(n, start));
  const std::uint64_t nonce = names.ask(n, start);
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 199ms));
  REQUIRE(datagram_names::is_to_be_asked(n, start + 200ms));
  CHECK(names.ask(n, start + 200ms) == nonce);
  CHECK(n.unanswered == 2);
  CHECK(datagram_names::answered(n, nonce, place_number(1)) == datagram_names::answer::moved);
  CHECK(n.leads_somewhere());
  CHECK(n.unanswered == 0);
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 10s));
}

TEST_CASE("an answer to no question, or to another one, changes nothing") {
  datagram_names names(32, 1);
  known_name& n = names.add(name_number(1));
  CHECK(datagram_names::answered(n, 0, place_number(1)) == datagram_names::answer::ignored);
  const std::uint64_t nonce = names.ask(n, start);
  CHECK(datagram_names::answered(n, nonce + 1, place_number(1)) == datagram_names::answer::ignored);
  CHECK_FALSE(n.leads_somewhere());
  REQUIRE(datagram_names::answered(n, nonce, place_number(1)) == datagram_names::answer::moved);
  CHECK(datagram_names::answered(n, nonce, place_number(1, 2)) == datagram_names::answer::ignored);
  CHECK(n.where == place_number(1));
}

TEST_CASE("a name that is silent for three sends is asked about, and sent to meanwhile") {
  datagram_names names(32, 1);
  known_name& n = known(names, 1);
  for (int i = 0; i < 2; ++i) datagram_names::sent(n);
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 1s));
  datagram_names::sent(n);
  REQUIRE(datagram_names::is_to_be_asked(n, start + 1s));
  const std::uint64_t nonce = names.ask(n, start + 1s);
  CHECK(n.leads_somewhere());
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 1199ms));
  CHECK(datagram_names::answered(n, nonce, place_number(1)) == datagram_names::answer::confirmed);
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 2s));

  for (int i = 0; i < 3; ++i) datagram_names::sent(n);
  CHECK(names.heard(name_number(1), 1001, mapped({10, 0, 0, 1}), 101) == datagram_names::origin::right);
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 3s));
}

TEST_CASE("a datagram in another epoch puts its name in doubt until an answer comes") {
  datagram_names names(32, 1);
  known_name& n = known(names, 1);
  const gid source = mapped({10, 0, 0, 1});
  CHECK(names.heard(n.name, 2001, source, 201) == datagram_names::origin::restarted);
  CHECK_FALSE(n.leads_somewhere());
  REQUIRE(datagram_names::is_to_be_asked(n, start + 200ms));
  const std::uint64_t nonce = names.ask(n, start + 200ms);
  CHECK(names.heard(n.name, 2001, source, 201) == datagram_names::origin::restarted);
  CHECK(datagram_names::answered(n, nonce, place_number(1, 2)) == datagram_names::answer::moved);
  CHECK(n.leads_somewhere());
  CHECK(names.heard(n.name, 2001, source, 201) == datagram_names::origin::right);
  CHECK(names.heard(n.name, 1001, source, 101) == datagram_names::origin::late);
  CHECK(n.leads_somewhere());
}

TEST_CASE("an answer to a question from before a restart does not settle the doubt") {
  datagram_names names(32, 1);
  known_name& n = known(names, 1);
  for (int i = 0; i < 3; ++i) datagram_names::sent(n);
  const std::uint64_t before = names.ask(n, start + 1s);
  CHECK(names.heard(n.name, 2001, mapped({10, 0, 0, 1}), 201) == datagram_names::origin::restarted);
  CHECK(datagram_names::answered(n, before, place_number(1)) == datagram_names::answer::ignored);
  CHECK_FALSE(n.leads_somewhere());
  CHECK_FALSE(datagram_names::is_to_be_asked(n, start + 1199ms));
  CHECK(datagram_names::is_to_be_asked(n, start + 1200ms));
}

TEST_CASE("a datagram must come from the port and the queue pair of the name that it claims") {
  datagram_names names(32, 1);
  known_name& n = known(names, 1);
  CHECK(names.heard(n.name, 1001, mapped({10, 0, 0, 2}), 101) == datagram_names::origin::forged);
  CHECK(names.heard(n.name, 5555, mapped({10, 0, 0, 2}), 101) == datagram_names::origin::forged);
  CHECK(names.heard(n.name, 1001, mapped({10, 0, 0, 1}), 102) == datagram_names::origin::forged);
  CHECK(n.leads_somewhere());
}

TEST_CASE("of a name that nobody has asked about, only its own address is a proof") {
  datagram_names names(32, 1);
  CHECK(names.heard(name_number(3), 9, mapped({10, 0, 0, 3}), 1) == datagram_names::origin::right);
  CHECK(names.heard(name_number(3), 9, mapped({10, 0, 0, 4}), 1) == datagram_names::origin::unproven);
  CHECK(names.size() == 0);  // strangers take no room

  known_name& n = names.add(name_number(3));
  CHECK(names.heard(n.name, 9, mapped({10, 0, 0, 4}), 1) == datagram_names::origin::unproven);
  whereabouts other_device = place_number(3);
  other_device.address = mapped({10, 1, 0, 3});
  REQUIRE(datagram_names::answered(n, names.ask(n, start), other_device) == datagram_names::answer::moved);
  CHECK(names.heard(n.name, 1003, mapped({10, 1, 0, 3}), 103) == datagram_names::origin::right);
  CHECK(names.heard(n.name, 1003, mapped({10, 0, 0, 3}), 103) == datagram_names::origin::forged);
}

TEST_CASE("the name that was used longest ago makes room for a new one, without any allocation") {
  datagram_names names(32, 1);
  for (std::uint8_t i = 0; i < 32; ++i) {
    CHECK(names.in_the_way() == nullptr);
    names.add(name_number(i));
  }
  names.touch(*names.find(name_number(0)));
  const auto replace = [&](std::uint8_t by) {
    known_name* const old = names.in_the_way();
    const std::uint8_t gone = old->name.host.back();
    names.remove(*old);
    names.add(name_number(by));
    return gone;
  };
  CHECK(replace(100) == 1);
  const std::size_t before = allocation_counter::on_this_thread();
  CHECK(replace(101) == 2);
  CHECK(allocation_counter::on_this_thread() == before);
  CHECK(names.size() == 32);
  CHECK(names.find(name_number(1)) == nullptr);
  CHECK(names.find(name_number(0)) != nullptr);
  CHECK_FALSE(names.find(name_number(101))->asked.has_value());
}
