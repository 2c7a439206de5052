#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "scoll/bulk/head.hpp"
#include "scoll/collective/broadcast_caller.hpp"
#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/counter_ranges.hpp"
#include "scoll/collective/creation_statement.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/item_run.hpp"
#include "scoll/collective/life_tag.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/collective/size_limits.hpp"
#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace scoll::detail;
using scoll::test::hex;

namespace {

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  return wire::detail::load_little<T>(bytes.data() + offset);
}

}  // namespace

TEST_CASE("the heads lie on the wire as documented", "[golden]") {
  collective_head h;
  h.kind = 1;
  h.tree_kind = 3;
  h.service_version = 0x0405;
  h.service = 0x06070809;
  h.tree_params = {8, 9, 10};
  h.root_rank = 11;
  h.group = {12, 13, 14, {}};
  h.group.digest.fill(std::byte{0xdd});
  h.operation = {15, 16, 17, 18};
  h.watermark = 19;
  h.remaining_ns = 20;
  h.margin_us = 21;
  h.rtt_us = 22;
  h.processing_ns = 23;
  h.flags = collective_head::living | collective_head::same_view | 0x0400;
  h.subset_bytes = 24;
  h.creation_bytes = 25;
  h.subset_digest = 26;
  std::array<std::byte, 152> bytes;
  REQUIRE(*wire::encode_to(bytes, h) == bytes.size());
  REQUIRE(at<std::uint8_t>(bytes, 0) == 1);
  REQUIRE(at<std::uint8_t>(bytes, 1) == 3);
  REQUIRE(at<std::uint16_t>(bytes, 2) == 0x0405);
  REQUIRE(at<std::uint32_t>(bytes, 4) == 0x06070809);
  for (std::uint32_t i = 0; i < 3; ++i) REQUIRE(at<std::uint32_t>(bytes, 8 + 4 * i) == 8 + i);
  REQUIRE(at<std::uint32_t>(bytes, 20) == 11);
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(at<std::uint64_t>(bytes, 24 + 8 * i) == 12 + i);
  REQUIRE(hex(std::span(bytes).subspan(48, 32)) == std::string(64, 'd'));
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(at<std::uint64_t>(bytes, 80 + 8 * i) == 15 + i);
  REQUIRE(at<std::uint16_t>(bytes, 104) == 18);
  for (std::uint64_t i = 0; i < 2; ++i) REQUIRE(at<std::uint64_t>(bytes, 106 + 8 * i) == 19 + i);
  for (std::uint32_t i = 0; i < 2; ++i) REQUIRE(at<std::uint32_t>(bytes, 122 + 4 * i) == 21 + i);
  REQUIRE(at<std::uint64_t>(bytes, 130) == 23);
  REQUIRE(at<std::uint16_t>(bytes, 138) == 0x0403);
  for (std::uint32_t i = 0; i < 2; ++i) REQUIRE(at<std::uint16_t>(bytes, 140 + 2 * i) == 24 + i);
  REQUIRE(at<std::uint64_t>(bytes, 144) == 26);

  notice_head n;
  n.kind = 1;
  n.ends_with = 2;
  n.group = h.group;
  n.by = 3;
  n.life = 4;
  n.reason = 5;
  n.tree_kind = 6;
  n.tree = {7, 8, 9};
  n.initiator = 10;
  n.say("plan B");
  std::array<std::byte, 159> notice;
  REQUIRE(*wire::encode_to(notice, n) == notice.size());
  REQUIRE(at<std::uint8_t>(notice, 0) == 1);
  REQUIRE(at<std::uint8_t>(notice, 1) == 2);
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(at<std::uint64_t>(notice, 2 + 8 * i) == 12 + i);
  REQUIRE(hex(std::span(notice).subspan(26, 32)) == std::string(64, 'd'));
  for (std::uint64_t i = 0; i < 2; ++i) REQUIRE(at<std::uint64_t>(notice, 58 + 8 * i) == 3 + i);
  REQUIRE(at<std::uint32_t>(notice, 74) == 5);
  REQUIRE(at<std::uint8_t>(notice, 78) == 6);
  for (std::uint32_t i = 0; i < 4; ++i) REQUIRE(at<std::uint32_t>(notice, 79 + 4 * i) == 7 + i);
  REQUIRE(hex(std::span(notice).subspan(95, 64)) == "706c616e2042" + std::string(116, '0'));

  collective_reply_head r;
  r.flags = collective_reply_head::clean;
  r.values = 0x0102;
  r.account_bytes = 0x03040506;
  r.processing_ns = 7;
  r.dissenters = 8;
  r.dissenter = 9;
  r.trace_bytes = 10;
  std::array<std::byte, 28> reply;
  REQUIRE(*wire::encode_to(reply, r) == reply.size());
  REQUIRE(hex(reply) == "0200020106050403070000000000000008000000090000000a000000");
}

TEST_CASE("a further round is told by a flag and the attempt", "[golden]") {
  CHECK(collective_head::retain == 32);
  collective_head h;
  h.flags = collective_head::retain | collective_head::tell_losses;
  h.operation.attempt = 3;
  std::array<std::byte, 152> bytes;
  REQUIRE(*wire::encode_to(bytes, h) == bytes.size());
  CHECK(hex(std::span(bytes).subspan(104, 2)) == "0300");
  CHECK(hex(std::span(bytes).subspan(138, 2)) == "6000");
  CHECK(static_cast<std::uint16_t>(errc::record_gone) == 37);
}

TEST_CASE("the tags of lives lie on the wire as documented", "[golden]") {
  CHECK(collective_head::lives == 512);
  std::array<std::byte, life_tags::bytes_of(4)> bytes;
  const std::array tags{tag_of_life(1), tag_of_life(2), for_any_life, for_no_life};
  const auto tag_of = [&](std::uint32_t index) { return tags[index]; };
  CHECK(life_tags::write(bytes.data(), 4, tag_of) == bytes.data() + bytes.size());
  CHECK(hex(bytes) == "040000002e79db6443e2ee910100000000000000");
  const auto read = life_tags::read(bytes, 4);
  REQUIRE(read);
  for (std::uint32_t i = 0; i < tags.size(); ++i) CHECK((*read)[i] == tags[i]);
  for (const std::uint32_t members : {0U, 3U, 5U, UINT32_MAX})
    CHECK(life_tags::read(bytes, members).error() == errc::malformed);
  CHECK(life_tags::read(std::span(bytes).first(19), 4).error() == errc::malformed);
}

TEST_CASE("what answers in parts need lies on the wire as documented", "[golden]") {
  CHECK(collective_head::tell_losses == 64);
  CHECK(collective_head::tell_all == 128);
  CHECK(collective_reply_head::parts_follow == 4);
  CHECK(max_part_bytes == 4096);
  collective_reply_head part;
  part.flags = collective_reply_head::parts_follow;
  part.account_bytes = 0x0f;
  std::array<std::byte, 28> head;
  REQUIRE(*wire::encode_to(head, part) == head.size());
  CHECK(hex(head) == "040000000f0000000000000000000000000000000000000000000000");
  // The losses of a subtree, without the merged members.
  outcome_builder a, losses;
  a.add({1, 3}, member_state::merged);
  a.add({4, 5}, member_state::failed, a.add_cause({phase::execute, error(errc::io_error, "no"), 4}));
  REQUIRE(a.move_losses(losses, max_part_bytes, a.runs().size()) == 1);
  std::array<std::byte, 64> bytes;
  wire::writer out(bytes);
  losses.encode(out);
  //            form causes | phase code domain number reporter text | runs | gap len state cause
  CHECK(hex(out.written()) ==
        "00"
        "01"
        "05"
        "15"
        "00"
        "00"
        "04"
        "02"
        "6e6f"
        "01"
        "04010201");
}

TEST_CASE("a part with items lies on the wire as documented", "[golden]") {
  CHECK(collective_head::streams == 8192);
  CHECK(collective_reply_head::items == 32);
  CHECK(max_item_bytes == 32'704);
  collective_reply_head part;
  part.flags = collective_reply_head::parts_follow | collective_reply_head::items;
  part.values = 2;
  std::array<std::byte, 28> head;
  REQUIRE(*wire::encode_to(head, part) == head.size());
  CHECK(hex(head) == "24000200000000000000000000000000000000000000000000000000");
  std::array<std::byte, 64> bytes;
  wire::writer out(bytes);
  put_run_head(out, {4, 300, 2, false, {}});
  for (const std::string_view item : {"ab", ""}) {
    out.put_length(item.size());
    std::ranges::copy(std::as_bytes(std::span(item)), out.claim(item.size()));
  }
  put_run_head(out, {5, 0, 0, true, {}});
  REQUIRE(out.ok());
  //   member items before, 2 * 2 items, and more follow | length item | length | member, none before, the last
  CHECK(hex(out.written()) ==
        "04"
        "ac02"
        "04"
        "020000006162"
        "00000000"
        "050001");
  wire::reader in(out.written());
  item_run run = take_run(in);
  CHECK(run.relative == 4);
  CHECK(run.first == 300);
  CHECK_FALSE(run.last);
  REQUIRE(run.count == 2);
  CHECK(hex(run.take_item()) == "6162");
  CHECK(run.take_item().empty());
  run = take_run(in);
  CHECK(run.relative == 5);
  CHECK(run.last);
  CHECK(run.count == 0);
  in.finish();
  CHECK(in.ok());
}

TEST_CASE("the head of bulk data lies on the wire as documented", "[golden]") {
  bulk_head h;
  h.length = 1;
  h.piece_bytes = 2;
  h.plan = 3;
  h.radix = 4;
  h.reserved = 5;
  h.time_ns = 6;
  h.from = {7, 8, 9, 10, 11, transport::memory_access::read, {}};
  std::array<std::byte, 62> bytes;
  REQUIRE(*wire::encode_to(bytes, h) == bytes.size());
  CHECK(at<std::uint64_t>(bytes, 0) == 1);
  CHECK(at<std::uint32_t>(bytes, 8) == 2);
  CHECK(at<std::uint8_t>(bytes, 12) == 3);
  CHECK(at<std::uint8_t>(bytes, 13) == 4);
  CHECK(at<std::uint16_t>(bytes, 14) == 5);
  CHECK(at<std::uint64_t>(bytes, 16) == 6);
  CHECK(at<std::uint64_t>(bytes, 24) == 7);
  CHECK(collective_head::bulk_follows == 1024);
  CHECK(collective_head::declines_bulk == 2048);
  CHECK(static_cast<int>(collective_kind::bulk) == 6);
}

TEST_CASE("what is said of the ends of groups lies on the wire as documented", "[golden]") {
  CHECK(static_cast<int>(collective_kind::broadcast) == 0);
  CHECK(static_cast<int>(collective_kind::create) == 1);
  CHECK(static_cast<int>(collective_kind::forget) == 2);
  CHECK(static_cast<int>(collective_kind::sweep) == 3);
  CHECK(static_cast<int>(collective_kind::end) == 4);
  CHECK(static_cast<int>(collective_kind::members) == 5);

  creation_statement said;
  said.below = 900;
  said.count = 2;
  said.exceptions = {1, 7};
  std::array<std::byte, max_forget_bytes> bytes;
  const std::string statement =
      "840300000000000002"
      "0100000000000000"
      "0700000000000000";
  const std::size_t size = *encode_forget({lifetime::members, said}, bytes);
  CHECK(hex(std::span(bytes).first(size)) == "01" + statement);
  CHECK(*encode_forget({lifetime::creator, std::nullopt}, bytes) == 1);
  CHECK(bytes[0] == std::byte{0});

  wire::writer out(bytes);
  const counter_ranges ended{{3, 3}, {5, 204}, {1000, 1001}};
  CHECK(put_counters(out, ended, 64) == 3);
  CHECK(hex(out.written()) ==
        "0300"
        "02c701"
        "9c0601");
}

TEST_CASE("the caller of a broadcast lies on the wire as documented", "[golden]") {
  const auto c = broadcast_caller::of(7, "backup");
  std::array<std::byte, 73> bytes;
  REQUIRE(*wire::encode_to(bytes, c) == bytes.size());
  CHECK(at<std::uint64_t>(bytes, 0) == 7);
  CHECK(at<std::uint8_t>(bytes, 8) == 6);
  CHECK(std::memcmp(bytes.data() + 9, "backup", 6) == 0);
  CHECK(collective_head::caller_follows == 4096);
  CHECK(wire::decode_from<broadcast_caller>(bytes).value().name() == "backup");
  bytes[8] = std::byte{65};
  CHECK_FALSE(wire::decode_from<broadcast_caller>(bytes).has_value());
  bytes[8] = std::byte{6};
  bytes[0] = {};
  CHECK_FALSE(wire::decode_from<broadcast_caller>(bytes).has_value());
}

TEST_CASE("a membership and its digest lie on the wire as documented", "[golden]") {
  const auto plain = membership::make({{1, {}}, {2, {}}, {3, {}}}).value();
  std::array<std::byte, 64> bytes;
  auto size = encode_membership(plain.get(), bytes);
  REQUIRE(hex(std::span(bytes).first(*size)) == "03020002000200");
  // sha256("scoll membership 1" + six little-endian u64: 1, 0, 2, 0, 3, 0)
  REQUIRE(hex(plain->digest()) == "092fac589221404d707a633d5070bf9847343e932030f2c7a1e53bccad15e8a3");

  const auto backwards = membership::make({{3, {}}, {1, {{1, 2}}}}).value();
  size = encode_membership(backwards.get(), bytes);
  REQUIRE(hex(std::span(bytes).first(*size)) ==
          "02"
          "0600"
          "0301"
          "0100000000000000"
          "0200000000000000");
  const auto read = decode_membership(std::span(bytes).first(*size));
  REQUIRE(read.has_value());
  REQUIRE((*read)[1].node == 1);
  REQUIRE((*read)[1].entities == std::vector<entity>{{1, 2}});
}

TEST_CASE("zones and hosts lie behind the members, and in the digest, if any is known", "[golden]") {
  const auto placed = membership::make({{1, {}, 1, 2}, {2, {}, 1, 3}, {3, {}, 300, 0}}).value();
  std::array<std::byte, 64> bytes;
  const auto size = encode_membership(placed.get(), bytes);
  REQUIRE(hex(std::span(bytes).first(*size)) ==
          "03020002000200"
          "0201"
          "01ac02"
          "0102"
          "0103"
          "0100");
  REQUIRE(membership_bytes(*placed) == *size);
  // sha256("scoll membership 2" + twelve little-endian u64: 1, 0, 1, 2; 2, 0, 1, 3; 3, 0, 300, 0)
  REQUIRE(hex(placed->digest()) == "f6197215a59aa430045357e764ccb8e408afa5341fffe82a562f760d611909b2");
  const auto read = decode_membership(std::span(bytes).first(*size));
  REQUIRE(read.has_value());
  const auto again = membership::make(*read).value();
  REQUIRE(again->digest() == placed->digest());
  REQUIRE(again->place(1) == member_place{1, 3});
  REQUIRE(again->place(2) == member_place{300, 0});
}

TEST_CASE("an account lies on the wire as documented", "[golden]") {
  outcome_builder a;
  const std::uint16_t why =
      a.add_cause({phase::execute, error(errc::hook_failed, "no", -1, error_domain::user), 2});
  a.add({1, 3}, member_state::merged);
  a.add({3, 4}, member_state::failed, why);
  a.normalise();
  std::array<std::byte, 64> bytes;
  wire::writer out(bytes);
  a.encode(out);
  //            form causes | phase code domain number      reporter text  | runs | gap len state cause
  REQUIRE(hex(out.written()) ==
          "00"
          "01"
          "05"
          "13"
          "02"
          "ffffffff0f"
          "02"
          "02"
          "6e6f"
          "02"
          "01020000"
          "00010201");
}
