#include "scoll/collective/agreement/messages.hpp"

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace scoll::detail;
using scoll::test::hex;

namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> numbers) {
  std::vector<std::byte> bytes;
  for (const unsigned n : numbers) bytes.push_back(static_cast<std::byte>(n));
  return bytes;
}

template <class T>
std::vector<std::byte> encoded_bytes(const T& value) {
  std::vector<std::byte> bytes(4096);
  bytes.resize(wire::encode_to(bytes, value).value());
  return bytes;
}

agreement_request collect() {
  agreement_request r;
  r.kind = agreement_kind::collect;
  r.rule = quorum_rule::survivors;
  r.round = 3;
  r.instance = 77;
  r.held = encoded(rank_set{0, 1} | (rank_set::all(307) - rank_set::all(7)));
  return r;
}

agreement_request accept() {
  agreement_request r;
  r.kind = agreement_kind::accept;
  r.space = agreement_space::shrink;
  r.round = 4;
  r.what = encoded(proposal{bytes_of({0xab, 0xcd}), rank_set{1}, 2, 9, 12});
  return r;
}

agreement_reply answered() {
  agreement_answers a;
  a.voters = rank_set::all(4);
  a.contributions.push_back({rank_set{0}, bytes_of({1, 2})});
  a.accepted = {{3, 2}, proposal{bytes_of({7}), rank_set{2, 3}}};
  a.overtaken_by = {5, 1};
  a.forgotten = 1;
  agreement_reply r;
  r.instance = 77;
  put(r, a);
  return r;
}

}  // namespace

TEST_CASE("the messages of an agreement lie on the wire as documented", "[golden][agreement]") {
  CHECK(hex(encoded_bytes(collect())) == "00000100030000004d0000000000000004000000000205ac0200");
  CHECK(hex(encoded_bytes(accept())) ==
        "01010000040000000000000000000000000000000102000000abcd02000000010102000000000000000900000000000000"
        "0c00000000000000");
  CHECK(hex(encoded_bytes(answered())) ==
        "004d0000000000000001000000000000000500000001000000030000000200000002000000000401010000000702000000"
        "02020000000000000000000000000000000000000000000000000001000000020000000001020000000102");
  const auto read = wire::decode_from<agreement_reply>(encoded_bytes(answered()));
  REQUIRE(read.has_value());
  const agreement_answers a = taken_from(*read);
  CHECK(a.voters == rank_set::all(4));
  CHECK(a.accepted.at == ballot{3, 2});
  CHECK(a.accepted.what.failed == rank_set{2, 3});
  CHECK(a.contributions.size() == 1);
  CHECK_FALSE(a.decided.has_value());
}

TEST_CASE("messages of an agreement that make no sense are malformed", "[hostile][agreement]") {
  const auto refused = [](const agreement_request& r) {
    return !wire::decode_from<agreement_request>(encoded_bytes(r));
  };
  CHECK_FALSE(refused(collect()));
  CHECK_FALSE(refused(accept()));
  const auto changed = [](agreement_request r, auto change) {
    change(r);
    return r;
  };
  CHECK(refused(changed(collect(), [](auto& r) { r.kind = agreement_kind{3}; })));
  CHECK(refused(changed(collect(), [](auto& r) { r.space = agreement_space{2}; })));
  CHECK(refused(changed(collect(), [](auto& r) { r.rule = quorum_rule{2}; })));
  CHECK(refused(changed(collect(), [](auto& r) { r.reserved = 1; })));
  CHECK(refused(changed(collect(), [](auto& r) { r.round = 0; })));
  CHECK(refused(changed(collect(), [](auto& r) { r.what = accept().what; })));
  CHECK(refused(changed(collect(), [](auto& r) { r.held.numbers.pop_back(); })));
  CHECK(refused(changed(collect(), [](auto& r) { r.held.numbers[1].value = 0; })));  // an empty range
  CHECK(refused(changed(collect(), [](auto& r) { r.held.numbers[2].value = 0; })));  // ranges that touch
  CHECK(refused(changed(collect(), [](auto& r) { r.held.numbers[3].value = UINT64_MAX; })));
  CHECK(refused(changed(accept(), [](auto& r) { r.what.reset(); })));
  CHECK(refused(changed(accept(), [](auto& r) { r.held = collect().held; })));
  CHECK(refused(changed(accept(), [](auto& r) { r.kind = agreement_kind::decided; })));  // it has a round
  CHECK(refused(changed(accept(), [](auto& r) { r.what->value.resize(1025); })));
  agreement_reply reply = answered();
  reply.accepted_round = 0;
  CHECK_FALSE(wire::decode_from<agreement_reply>(encoded_bytes(reply)).has_value());
}
