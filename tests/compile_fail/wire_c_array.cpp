// expect-error: a C array: use std::array
#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  std::array<std::uint8_t, 8> value;
#else
  std::uint8_t value[8];
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
