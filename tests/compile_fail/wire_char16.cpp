// expect-error: wide characters have no form on the wire
#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  std::uint16_t value;
#else
  char16_t value;
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
