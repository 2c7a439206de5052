// expect-error: an enum without a stated size
#include "transport/wire/wire.hpp"

#ifdef SCOLL_CONTROL
enum request : std::uint8_t { start, stop };
#else
enum request { start, stop };
#endif

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
