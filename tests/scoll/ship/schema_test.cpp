#include "calls.hpp"

using namespace scoll;
using namespace scoll::test;

namespace {

// Two programs' versions of the same structs. Their sizes are equal, so the bytes alone do not reveal the
// difference.

namespace here {
struct placement {
  static constexpr std::uint16_t wire_version = 2;
  std::uint32_t shard = 0;
  std::uint32_t copies = 0;
};
class address {
 public:
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(host_, port_);
  }

 private:
  std::uint32_t host_ = 1;
  std::uint16_t port_ = 2;
};
}  // namespace here

namespace there {
struct placement {
  static constexpr std::uint16_t wire_version = 2;
  float load = 0;
  std::uint32_t shard = 0;
};
class address {
 public:
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(port_, host_);
  }

 private:
  std::uint32_t host_ = 1;
  std::uint16_t port_ = 2;
};
}  // namespace there

/// Grows from version to version, and reads older senders.
template <std::uint16_t Version>
struct growing {
  static constexpr std::uint16_t wire_version = Version;
  std::uint32_t shard = 0;
  std::uint32_t copies = 9;

  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(shard);
    if (archive.version() >= 2) archive(copies);
  }
};

/// Claims version 2, but has only the members of version 1.
struct short_of_a_field {
  static constexpr std::uint16_t wire_version = 2;
  std::uint32_t shard = 0;
};
/// Has grown, and does not read older senders.
struct two_fields {
  static constexpr std::uint16_t wire_version = 2;
  std::uint32_t shard = 0;
  std::uint32_t copies = 0;
};
struct one_field {
  static constexpr std::uint16_t wire_version = 1;
  std::uint32_t shard = 0;
};

/// Looks at values, so that its layout cannot be computed at compile time.
struct sometimes {
  bool has = false;
  std::uint32_t number = 0;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(has);
    if (has) archive(number);
  }
};

struct node_of_a_tree {
  std::vector<node_of_a_tree> children;
  here::placement at;
};

std::string text_of(const error& e) {
  return std::string(e.text());
}

/// Serves one version and asks with the other: nothing may run.
template <class There, class Here>
error asked_as(const Here& argument) {
  constexpr remote_function<There, std::uint32_t> served{"test.schema"};
  constexpr remote_function<Here, std::uint32_t> asked{"test.schema"};
  virtual_cluster c(2);
  std::uint32_t begun = 0;
  c[1].serve(served, [&](const There&, call_context&) { return ++begun; }).value();
  const auto r = ask(c, 0, 2, asked, argument);
  CHECK(begun == (r.has_value() ? 1 : 0));
  CHECK(r.may_have_executed() == r.has_value());
  CHECK(calls_over(c));
  return r ? error() : r.error();
}

}  // namespace

TEST_CASE("a signature tells the fields, also of structs with versions and descriptions") {
  STATIC_REQUIRE(wire::signature<here::placement> == "@2{u32,u32}");
  STATIC_REQUIRE(wire::signature<wire::versioned<pair_of, 7>> == "@7{{u32,u32}}");
  STATIC_REQUIRE(wire::signature<here::address> == "{u32,u16}");
  STATIC_REQUIRE(wire::signature<there::address> == "{u16,u32}");
  STATIC_REQUIRE(wire::signature<growing<1>> == "@1{u32}");
  STATIC_REQUIRE(wire::signature<growing<3>> == "@3{u32,u32}");
  STATIC_REQUIRE(wire::signature<sometimes> == "{described}");
  STATIC_REQUIRE(wire::signature<std::vector<std::pair<here::address, sometimes>>> ==
                 "[{{u32,u16},{described}}]");
  STATIC_REQUIRE(wire::signature<node_of_a_tree> == "{[^],@2{u32,u32}}");
}

TEST_CASE("what structs of other versions have in common is what their functions must have in common") {
  const auto digest = [](std::string_view argument) { return scoll::detail::digest_of("f", argument, "u8"); };
  CHECK(compatible(digest("{u8,@1{u32}}"), digest("{u8,@2{u32,u32}}")));
  CHECK(compatible(digest("@1{@3{u8}}"), digest("@1{@4{u8,u8}}")));
  CHECK(compatible(digest("@1{u32},@2{u8}"), digest("@1{u32},@2{u8}")));
  CHECK_FALSE(compatible(digest("@1{u32}"), digest("@1{f32}")));
  CHECK_FALSE(compatible(digest("@1{@3{u8}}"), digest("@1{@3{i8}}")));
  CHECK_FALSE(compatible(digest("@1{{u32}},u8"), digest("@2{{u32}},i8")));
  CHECK_FALSE(compatible(digest("@1{u32}"), digest("{u32}")));
  CHECK_FALSE(compatible(digest("[@1{u32}]"), digest("@2{u32}")));
  CHECK(digest("{u32}").versions == 0);
  CHECK(digest("{u32}").fields == 0);
}

TEST_CASE("structs of one version and size with other fields are an error, and nothing runs") {
  const error versions = asked_as<there::placement>(here::placement{1, 2});
  CHECK(versions == error(errc::type_mismatch,
                          "'test.schema' is (@2{u32,u32}) -> u32 here, (@2{f32,u32}) -> u32 on node 2"));
  CHECK(asked_as<there::address>(here::address()) == errc::type_mismatch);
  CHECK(asked_as<std::vector<there::placement>>(std::vector<here::placement>(2)) == errc::type_mismatch);
  CHECK_FALSE(asked_as<here::placement>(here::placement{1, 2}));
}

TEST_CASE("a struct that is shorter or longer than its version says is an error") {
  CHECK(asked_as<two_fields>(short_of_a_field{1}) == errc::type_mismatch);
  CHECK(asked_as<short_of_a_field>(two_fields{1, 2}) == errc::type_mismatch);
  // Versions may differ; the decoder then finds missing members.
  CHECK(asked_as<two_fields>(one_field{1}) == errc::malformed);
  CHECK_FALSE(asked_as<one_field>(two_fields{1, 2}));
}

TEST_CASE("older and newer programs call each other with structs that grow", "[world]") {
  constexpr remote_function<growing<1>, growing<1>> old_one{"test.grow"};
  constexpr remote_function<growing<2>, growing<2>> new_one{"test.grow"};
  cluster c(any_kind_of_world(), 2);
  c[0].serve(old_one, [](const growing<1>& g, call_context&) { return growing<1>{g.shard + 1, 0}; }).value();
  c[1].serve(new_one,
             [](const growing<2>& g, call_context&) { return growing<2>{g.shard + g.copies, g.copies}; })
      .value();
  const auto from_new = ask(c, 1, 1, new_one, {5, 3});
  REQUIRE(from_new);
  CHECK(from_new->shard == 6);
  CHECK(from_new->copies == 9);  // its initial value, because an old result lacks it
  const auto from_old = ask(c, 0, 2, old_one, {5, 0});
  REQUIRE(from_old);
  CHECK(from_old->shard == 14);
}

TEST_CASE("types that differ, and names of one number, are named on both sides", "[world]") {
  cluster c(any_kind_of_world(), 2);
  constexpr remote_function<std::string, std::uint64_t> other_types{"test.add"};
  constexpr remote_function<pair_of, std::uint64_t> other_name{"test.sub", add.id()};
  handlers h;
  h.serve_all(c[1]);
  const auto wrong = ask(c, 0, 2, other_types, "x");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error() ==
        error(errc::type_mismatch, "'test.add' is (text) -> u64 here, ({u32,u32}) -> u64 on node 2"));
  CHECK_FALSE(wrong.may_have_executed());
  const auto collided = ask(c, 0, 2, other_name, {1, 2});
  REQUIRE_FALSE(collided);
  CHECK(collided.error() == error(errc::type_mismatch, "'test.sub' here, 'test.add' on node 2: one number"));
  CHECK_FALSE(collided.may_have_executed());
  const auto twice = c[1].serve(other_name, [](const pair_of&, call_context&) -> std::uint64_t { return 0; });
  REQUIRE_FALSE(twice);
  CHECK(twice.error() ==
        error(errc::already_exists, "functions 'test.add' and 'test.sub' have the same number"));
  CHECK(h.begun == 0);
}

TEST_CASE("an error names both functions, however long their names and types are", "[world]") {
  const world_kind kind = any_kind_of_world();
  using many = std::tuple<std::uint64_t, std::uint64_t, std::array<pair_of, 4>, std::vector<std::string>,
                          std::uint64_t, bool, std::vector<std::optional<std::uint32_t>>>;
  struct ends_in_u32 {
    many all;
    std::uint32_t last = 0;
  };
  struct ends_in_text {
    many all;
    std::string last;
  };
  constexpr remote_function<ends_in_u32, std::uint64_t> ours{"object_store.replication.write"};
  constexpr remote_function<ends_in_text, std::uint64_t> theirs{"object_store.replication.write"};
  constexpr remote_function<ends_in_text, std::uint64_t> collides{"object_store.rebalancing.plan1",
                                                                  ours.id()};
  constexpr remote_function<ends_in_text, std::uint64_t> longest{
      "a_name_that_is_as_long_as_names_may_become_and_not_a_letter_more", ours.id()};
  constexpr remote_function<ends_in_text, std::uint64_t> as_long{
      "a_name_that_is_as_long_as_names_may_become_and_not_a_word_longer", ours.id()};
  STATIC_REQUIRE(longest.name().size() == 64);

  const auto called = [&](const auto& served) {
    cluster c(kind, 2);
    c[1].serve(served, [](const ends_in_text&, call_context&) { return std::uint64_t{0}; }).value();
    const ends_in_u32 argument;
    const auto r = ask(c, 0, 2, ours, argument);
    CHECK(r.error() == errc::type_mismatch);
    return text_of(r.error());
  };
  CHECK(called(theirs) ==
        "'object_store.replication.write' is ...u32}) -> u64 here, ...text}) -> u64 on node 2");
  CHECK(called(collides) ==
        "'object_store.replication.write' here, 'object_store.rebalancing.plan1' on node 2: one number");
  CHECK(called(longest) ==
        "'object_store.replication.write' here, 'a_name_that_is_...t_a_letter_more' on node 2: one number");
  const auto served_both = [kind](const auto& first, const auto& second) {
    cluster c(kind, 1);
    const auto zero = [](const ends_in_text&, call_context&) { return std::uint64_t{0}; };
    c[0].serve(first, zero).value();
    return text_of(c[0].serve(second, zero).error());
  };
  CHECK(served_both(collides, longest) ==
        "functions 'object_store....ancing.plan1' and 'a_name_that_i..._letter_more' have the same number");
  CHECK(served_both(longest, as_long) ==
        "functions 'a_name_that_i..._letter_more' and 'a_name_that_i..._word_longer' have the same number");
}
