#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cores.hpp"

using namespace cores;

// A message, byte by byte as docs/wire.md has it. These bytes change only with the version of the protocol.

namespace {

std::string hex(std::span<const std::byte> all) {
  std::string text;
  for (const std::byte b : all) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15U];
  }
  return text;
}

constexpr std::string_view golden =
    "53434750"                          // magic
    "0200"                              // version
    "01"                                // ping
    "0d"                                // the configuration follows, asks, established
    "0100"                              // the sender's index
    "0d00"                              // loss
    "02000000"                          // asked
    "0504030201000000"                  // clock
    "1111111111111111"                  // incarnation
    "4200000000000000"                  // sequence
    "0000000000000000"                  // echo
    "647c8eb729fa22f0efe4d7bb31a121af"  // digest
    "0700000000000000"                  // the sender's id
    "8877665544332211"                  // the receiver's id
    "fa000000"                          // interval
    "03000000"                          // participants
    "dde8c9f8c806d92a3dce7884384cf47049a004b82ed8fc5f1fd2e14327a4894a"
    "00000000"              // the first entry
    "03000000"              // entries
    "01000000"              // all of them
    "0500ff"                // ages
    "01000000"              // lives
    "00002222222222222222"  // index and incarnation
    "00000000"              // the first in the table
    "00000000"              // the table
    "4c09a05f45167b51";     // checksum

}  // namespace

TEST_CASE("a message is byte for byte what the wire format says") {
  const auto shared = configuration::of_entries({{3, {"10.0.0.9:7400", "10.1.0.9:7400"}},
                                                 {7, {"10.0.0.2:7400", "10.1.0.2:7400"}},
                                                 {0x1122334455667788, {"10.0.0.1:7400"}}},
                                                std::chrono::milliseconds(250))
                          .value();
  message_head h = head(1, 0x42, 0x0102030405, 0x1111111111111111);
  h.in_full = h.asks = h.established = true;
  h.loss = 13;
  h.asked = 2;
  const bytes made = message(*shared, 2, h, {5, 0, never_heard}, {{0, 0x2222222222222222}});
  CHECK(hex(made) == golden);
  const message_view read = view(*shared, {2, made});
  CHECK(read.head.sender_id == 7);
  CHECK(read.head.receiver_id == 0x1122334455667788);
}
