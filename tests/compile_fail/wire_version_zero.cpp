// expect-error: wire_version starts at 1
#include "transport/wire/wire.hpp"

#ifdef SCOLL_CONTROL
struct request {
  static constexpr std::uint16_t wire_version = 1;
  std::uint32_t value;
};
#else
struct request {
  static constexpr std::uint16_t wire_version = 0;
  std::uint32_t value;
};
#endif

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
