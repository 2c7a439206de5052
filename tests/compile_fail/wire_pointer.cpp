// expect-error: a pointer means nothing on another node
#include "transport/wire/wire.hpp"

struct request {
#ifdef SCOLL_CONTROL
  std::uint32_t value;
#else
  std::uint32_t* value;
#endif
};

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
