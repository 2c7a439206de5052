#include <chrono>

#include "gossip/aead_seal.hpp"
#include "tests/catch.hpp"
#include "tests/transport/security/private_file.hpp"

using namespace scoll;
using namespace scoll::gossip;
using transport::key_ring;

namespace {

const std::string key_a(64, 'a');
const std::string key_b = std::string(62, '0') + "7F";

using bytes = std::vector<std::byte>;

bytes text(std::string_view from) {
  const auto view = std::as_bytes(std::span(from));
  return {view.begin(), view.end()};
}

/// Returns the sealed message: body, key id, tag.
bytes sealed(aead_seal& with, const seal_context& context, const bytes& head, bytes body) {
  const std::size_t size = body.size();
  body.resize(size + with.overhead());
  REQUIRE(with.seal(context, head, std::span(body).first(size)));
  return body;
}

bool opens(aead_seal& with, const seal_context& context, const bytes& head, bytes from, const bytes& plain) {
  if (!with.open(context, head, from)) return false;
  from.resize(from.size() - with.overhead());
  REQUIRE(from == plain);
  return true;
}

const seal_context context{3, 4, 1700, 41, 99, {7, 12}};
const bytes clear_head = text("head, in the clear");
const bytes body = text("ages of all participants");

}  // namespace

TEST_CASE("what is sealed opens with the same key, and the body is hidden", "[seal]") {
  aead_seal sender(key_ring::parse(key_a).value(), 8);
  aead_seal receiver(key_ring::parse(key_b + "\n" + key_a).value(), 8);
  const bytes message = sealed(sender, context, clear_head, body);
  REQUIRE(message.size() == body.size() + 20);
  REQUIRE(bytes(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(body.size())) != body);
  REQUIRE(opens(receiver, context, clear_head, message, body));
  REQUIRE(opens(receiver, context, clear_head, message, body));  // the participant rejects repetitions
  const bytes nothing;
  REQUIRE(opens(receiver, {3, 4, 1700, 42, 99}, clear_head,
                sealed(sender, {3, 4, 1700, 42, 99}, clear_head, nothing), nothing));
}

TEST_CASE("no bit of a sealed message may change, nor what its head claims", "[seal]") {
  aead_seal both(key_ring::parse(key_a).value(), 8);
  const bytes message = sealed(both, context, clear_head, body);
  for (std::size_t i = 0; i != message.size(); ++i) {
    for (int bit = 0; bit != 8; ++bit) {
      bytes altered = message;
      altered[i] ^= std::byte{1} << bit;
      REQUIRE(!opens(both, context, clear_head, altered, body));
    }
  }
  for (std::size_t i = 0; i != clear_head.size(); ++i) {
    bytes altered = clear_head;
    altered[i] ^= std::byte{1};
    REQUIRE(!opens(both, context, altered, message, body));
  }
  for (std::size_t size = 0; size != message.size(); ++size)
    REQUIRE(!opens(both, context, clear_head,
                   bytes(message.begin(), message.begin() + static_cast<long>(size)), body));
  const auto refused = [&](const auto& alter) {
    seal_context other = context;
    alter(other);
    return !opens(both, other, clear_head, message, body);
  };
  REQUIRE(refused([](seal_context& c) { c.sender_id = 5; }));
  REQUIRE(refused([](seal_context& c) { c.sender_id = 0; }));
  REQUIRE(refused([](seal_context& c) { c.incarnation = 1701; }));
  REQUIRE(refused([](seal_context& c) { c.sequence = 42; }));
  REQUIRE(refused([](seal_context& c) { c.cycle = 98; }));
  REQUIRE(refused([](seal_context& c) { c.receiver.id = 8; }));
  REQUIRE(refused([](seal_context& c) { c.receiver.id = 0; }));
  REQUIRE(refused([](seal_context& c) { c.receiver.life = 13; }));
  REQUIRE(opens(both, context, clear_head, message, body));  // forgeries left no trace
}

TEST_CASE("lives and numbers of messages never share a key stream", "[seal]") {
  aead_seal one(key_ring::parse(key_a).value(), 8);
  const bytes zeroes(64);
  std::vector<bytes> streams;
  for (const std::uint64_t incarnation : {1U, 2U}) {
    for (const participant_index sender : {0U, 1U}) {
      // A seal belongs to one participant; another participant has another seal.
      aead_seal its(key_ring::parse(key_a).value(), 8);
      for (const std::uint64_t sequence : {1U, 2U})
        streams.push_back(sealed(its, {sender, sender + 1, incarnation, sequence, 7}, clear_head, zeroes));
    }
  }
  for (std::size_t a = 0; a != streams.size(); ++a) {
    for (std::size_t b = 0; b != a; ++b)
      REQUIRE(!std::equal(streams[a].begin(), streams[a].begin() + 64, streams[b].begin()));
  }
}

TEST_CASE("a key is changed in three steps without a message lost", "[seal]") {
  const auto ring = [](const std::string& content) { return key_ring::parse(content).value(); };
  aead_seal a(ring(key_a), 8);
  aead_seal b(ring(key_a), 8);
  std::uint64_t sequence = 0;
  const auto talk = [&] {
    const seal_context from_a{0, 1, 5, ++sequence, 9};
    const seal_context from_b{1, 2, 6, ++sequence, 9};
    REQUIRE(opens(b, from_a, clear_head, sealed(a, from_a, clear_head, body), body));
    REQUIRE(opens(a, from_b, clear_head, sealed(b, from_b, clear_head, body), body));
  };
  const std::string steps[] = {key_a + "\n" + key_b, key_b + "\n" + key_a, key_b};
  for (const std::string& step : steps) {
    talk();
    a.set_keys(ring(step));
    talk();
    b.set_keys(ring(step));
    talk();
  }
  aead_seal late(ring(key_a), 8);
  const seal_context from_late{2, 3, 7, 1, 9};
  REQUIRE(a.unknown_key() == 0);
  REQUIRE(!opens(a, from_late, clear_head, sealed(late, from_late, clear_head, body), body));
  REQUIRE(a.unknown_key() == 1);
}

TEST_CASE("a seal that follows the file of its ring takes every step of a change of keys by itself",
          "[seal]") {
  constexpr auto at_once = std::chrono::seconds(0);
  const security::private_file file(key_a);
  aead_seal follower(key_ring::read(file.path).value(), 8);
  follower.follow(file.path, at_once);
  aead_seal other(key_ring::parse(key_b + "\n" + key_a).value(), 8);
  REQUIRE(opens(follower, context, clear_head, sealed(follower, context, clear_head, body), body));
  const bytes by_new_key = sealed(other, context, clear_head, body);
  REQUIRE_FALSE(opens(follower, context, clear_head, by_new_key, body));
  file.write(key_a + "\n" + key_b);
  CHECK(opens(follower, context, clear_head, by_new_key, body));
  file.write(key_b);
  aead_seal with_new_key(key_ring::parse(key_b).value(), 8);
  CHECK(opens(with_new_key, context, clear_head, sealed(follower, context, clear_head, body), body));

  file.write("no key");
  CHECK(opens(follower, context, clear_head, by_new_key, body));
  file.write(key_a, 0644);
  CHECK(opens(follower, context, clear_head, by_new_key, body));
}

TEST_CASE("a seal that follows a file looks at it no more often than it is told to", "[seal]") {
  const security::private_file file(key_a);
  aead_seal follower(key_ring::read(file.path).value(), 8);
  follower.follow(file.path, std::chrono::hours(1));
  file.write(key_b);
  CHECK(follower.keys().sealing().id == key_ring::parse(key_a).value().sealing().id);
  static_cast<void>(sealed(follower, context, clear_head, body));
  CHECK(follower.keys().sealing().id == key_ring::parse(key_a).value().sealing().id);
}
