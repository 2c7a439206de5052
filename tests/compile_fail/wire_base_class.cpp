// expect-error: a struct with a base class: make the base a member
#include "transport/wire/wire.hpp"

struct header {
  std::uint32_t length;
};

#ifdef SCOLL_CONTROL
struct request {
  header head;
  std::uint32_t value;
};
#else
struct request : header {
  std::uint32_t value;
};
#endif

bool send(scoll::wire::writer& out, const request& value) {
  return scoll::wire::encode(out, value);
}
bool receive(scoll::wire::reader& in, request& value) {
  return scoll::wire::decode(in, value);
}
